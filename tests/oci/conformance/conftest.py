"""A registry with token auth on, as the suites meet it: two repositories of one namespace."""

from collections.abc import Iterator

import httpx
import pytest

from tests.live import Live
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
def registry(http: httpx.Client, secret: str) -> Registry:
    return Registry(http, f"{NAMESPACE}/vpc/aws", TokenDance(http, secret))


@pytest.fixture
def other(http: httpx.Client, secret: str) -> Registry:
    """Fetches a new token for each request, as the suite of v1.1.1 does."""
    return Registry(http, f"{NAMESPACE}/other/aws", TokenDance(http, secret, keeps=False))
