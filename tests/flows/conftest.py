from collections.abc import Iterator

import pytest

from tests import postgres, stack
from tests.flows.crashing import larder_of_deaths
from tests.live import Live, start_live


@pytest.fixture(scope="package")
def deadly(tmp_path_factory) -> Iterator[Live]:
    with larder_of_deaths(tmp_path_factory.mktemp("deadly")) as larder:
        yield larder


POSTGRES = pytest.param("postgres", marks=pytest.mark.needs("postgres"))


# The full stack has PostgreSQL of itself.
@pytest.fixture(scope="package", params=["full"] if stack.IS_FULL else ["sqlite", POSTGRES])
def four_processes(request, tmp_path_factory) -> Iterator[Live]:
    variables = {"LARDER_WEB_PROCESSES": "4"}
    if request.param == "postgres":
        variables["LARDER_DATABASE_URL"] = postgres.start()
    with start_live(tmp_path_factory.mktemp("four"), **variables) as larder:
        yield larder
