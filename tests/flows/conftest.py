from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from apps.releases.models import Release
from tests import dumps, postgres, stack
from tests.builders.archives import module_zip
from tests.flows.crashing import larder_of_deaths
from tests.live import Live, start_live

PATH = "/api/v1/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def sent(alice, bearer, client, work) -> Callable[..., Any]:
    """The answer to an upload of Alice's by the API, when a worker has looked at it."""

    def send(data: bytes, query: str = "", version: str = "1.2.0") -> Any:
        url = PATH.replace("1.2.0", version) + query
        answer = client.put(url, data, content_type="application/octet-stream", headers=bearer(alice))
        work()
        return answer

    return send


@pytest.fixture
def uploaded(alice, work) -> Callable[..., Release]:
    """A release that Alice began in a browser, when a worker has looked at it."""

    def send(files: dict[str, str], version: str = "1.2.0", **more: Any) -> Release:
        address = ModuleAddress("acme", "vpc", "aws")
        release, _ = publishing.reserve_release(viewer=Viewer(alice), address=address, version=version, **more)
        publishing.receive(release=release, chunks=iter([module_zip(files)]))
        work()
        release.refresh_from_db()
        return release

    return send


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
        variables["LARDER_DATABASE_URL"] = dumps.fill(postgres.start())
    with start_live(
        tmp_path_factory.mktemp("four"), why="it has four web processes, on each database", **variables
    ) as larder:
        yield larder
