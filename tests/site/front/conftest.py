from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from apps.blobs import capabilities
from registry_site.backends import other_hosts
from registry_site.front import lease
from registry_site.front.lease import begin_sharing
from tests.needs import needs
from tests.site.front.asking import Process
from tests.site.front.hosts import GENEROUS, Host, Server


@pytest.fixture
def process(db: None) -> Iterator[Process]:
    one = Process()
    yield one
    one.end()


@pytest.fixture
def modules(process, published):
    for address in ("pantry/vpc/aws", "hall/vpc/aws", "hall/dns/aws"):
        published(address)
    release = published("acme/vpc/aws")
    process.learn()
    return release


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """In which the processes of one host share answers."""
    path = tmp_path / "ready.sqlite3"
    begin_sharing(path)
    return path


@pytest.fixture(scope="module")
@needs("redis-server")
def running() -> Iterator[Server]:
    one = Server()
    yield one
    one.end()


@pytest.fixture
def server(running: Server) -> Server:
    running.redis.flushall()
    return running


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that runs other tests is slower than any Redis, and than the database."""
    monkeypatch.setattr(other_hosts, "PATIENCE", GENEROUS)
    monkeypatch.setattr(lease, "PATIENCE", GENEROUS)


@pytest.fixture
def host(db: None, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Host]]:
    # Answers with links end together every few minutes, which may be now.
    monkeypatch.setattr(capabilities, "same_until", lambda moment: moment + timedelta(minutes=5))
    made: list[Host] = []

    def make(**more: Any) -> Host:
        made.append(Host(tmp_path / f"host-{len(made)}", server.url, **more))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def both(host: Callable[..., Host], patient: None) -> tuple[Host, Host]:
    return host(), host()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Release and reader of each download that counts."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr("apps.releases.catalogue.downloads.record_download", lambda *said: found.append(said[:2]))
    return found
