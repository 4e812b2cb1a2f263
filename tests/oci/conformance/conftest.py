"""A registry with token auth on, as the suites meet it: two repositories of one namespace."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.live import Live
from tests.oci.conformance.counts import Checks
from tests.oci.conformance.registry import Registry, TokenDance

NAMESPACE = "conform"


@pytest.fixture(scope="session")
def secret(live: Live) -> str:
    """An API token; its namespace is its own, because other tests share the live Larder."""
    manage = live.token()
    with live.client(manage) as client:
        answer = client.put(f"/api/v1/namespaces/{NAMESPACE}", json={"visibility": "private"})
        assert answer.status_code in (200, 201), answer.text
    return manage


@pytest.fixture
def http(live: Live) -> Iterator[httpx.Client]:
    with live.client() as client:
        yield client


@pytest.fixture
def dance(http: httpx.Client, secret: str) -> TokenDance:
    return TokenDance(http, secret)


@pytest.fixture
def registry(http: httpx.Client, dance: TokenDance) -> Registry:
    return Registry(http, f"{NAMESPACE}/vpc/aws", dance)


@pytest.fixture
def other(http: httpx.Client, dance: TokenDance) -> Registry:
    return Registry(http, f"{NAMESPACE}/other/aws", dance)


@pytest.fixture
def checks_of(record_property: Callable[[str, object], None]) -> Iterator[Callable[[str], Checks]]:
    """The counter of a group; the end of the run reports the counts of passed tests."""
    made: list[Checks] = []

    def checks(group: str) -> Checks:
        made.append(Checks(group))
        return made[-1]

    yield checks
    for one in made:
        record_property("checks", [one.group, one.count])
