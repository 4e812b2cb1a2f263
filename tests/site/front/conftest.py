from collections.abc import Iterator
from typing import Any

import pytest

from tests import shelves
from tests.cast import BLOBS
from tests.needs import needs
from tests.site.front.asking import Process
from tests.site.front.hosts import Host, Server


@pytest.fixture(scope="module")
def shelf(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The modules of `modules`, published once for the tests of a file."""
    with django_db_blocker.unblock(), shelves.laid_out(BLOBS, "pantry/vpc/aws", "hall/vpc/aws", "hall/dns/aws"):
        yield


@pytest.fixture
def process(db: None) -> Iterator[Process]:
    one = Process()
    yield one
    one.end()


@pytest.fixture
def modules(shelf, process, published):
    for address in ("pantry/vpc/aws", "hall/vpc/aws", "hall/dns/aws"):
        published(address)
    release = published("acme/vpc/aws")
    process.learn()
    return release


@pytest.fixture(scope="module")
@needs("redis-server")
def running() -> Iterator[Server]:
    one = Server()
    yield one
    one.end()


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    running.redis.flushall()
    yield running
    running.thaw()


@pytest.fixture
def both(db: None, server: Server) -> Iterator[tuple[Host, Host]]:
    one, other = Host(server.url), Host(server.url)
    yield one, other
    one.end()
    other.end()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Release, reader and token of each download that counts."""
    found: list[tuple[Any, ...]] = []
    seen = "apps.releases.catalogue.downloads.record_download"
    monkeypatch.setattr(seen, lambda release, user, _client, token=None: found.append((release, user, token)))
    return found
