"""Storage that hangs costs its readers their files, and nobody else anything."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Event

import httpx
import pytest

from apps.lib.process.outside import SILENCE_SECONDS
from tests import postgres, s3
from tests.builders.archives import module_zip
from tests.chaos.faulty_storage import Proxy
from tests.live import Live, start_live
from tests.site.monitoring.test_metrics import samples_of
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.needs("postgres"), pytest.mark.embedded("stops its S3")]

READERS = 20
CONNECTIONS = 4  # fewer than half of its threads
PROMPT_SECONDS = 5  # on a busy machine; a hung storage takes thirty
BODY = module_zip(comment=b"is stored in S3")


@dataclass
class World:
    larder: Live
    storage: s3.Server
    proxy: Proxy
    token: str
    archive: str
    numbers: Iterator[int] = field(default_factory=count)

    def metrics(self) -> dict[tuple[str, ...], float]:
        with self.larder.client() as client:
            return samples_of(client.get("/metrics").raise_for_status().text)

    def read(self) -> tuple[int, float, bytes]:
        """Status, seconds and body of the archive."""
        began = time.monotonic()
        with self.larder.client() as client:
            answer = client.get(self.archive, timeout=60)
        return answer.status_code, time.monotonic() - began, answer.content

    def others(self) -> dict[str, tuple[int, float]]:
        """What needs no storage, by Django: statuses and seconds."""
        found = {}
        number = next(self.numbers)
        with self.larder.client(self.token) as client:
            for path in ("/modules", "/help", "/v1/modules/acme/vpc/aws/versions", "/api/v1/modules", "/readyz"):
                began = time.monotonic()
                # Another question each time, so that no ready answer is repeated; the API has none.
                answer = client.get(path if path.startswith("/api/") else f"{path}?number={number}")
                found[path] = (answer.status_code, time.monotonic() - began)
                if path == "/readyz":
                    assert answer.json()["parts"]["database"] == "ok"
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with s3.running() as storage:
        s3.make_bucket(f"http://127.0.0.1:{storage.port}", "hung")
        proxy = Proxy(storage.port)
        variables = {
            **s3.KEYS,
            "LARDER_STORAGE_URL": f"s3://hung/larder?endpoint=http://127.0.0.1:{proxy.port}&region=us-east-1",
            "LARDER_DATABASE_URL": postgres.start(),
            "LARDER_DATABASE_CONNECTIONS": str(CONNECTIONS),
        }
        with start_live(tmp_path_factory.mktemp("hung"), why="its storage is stopped", **variables) as larder:
            token = larder.token()
            with larder.client(token) as client:
                client.put("/api/v1/namespaces/acme", json={"visibility": "public"}).raise_for_status()
            assert larder.publish("acme/vpc/aws", "1.0.0", BODY, token)["state"] == "published"
            with larder.client(token) as client:
                answer = client.get("/v1/modules/acme/vpc/aws/1.0.0/download").raise_for_status()
            archive = str(answer.json()["location"]).partition("?")[0]
            yield World(larder, storage, proxy, token, archive)


@contextmanager
def readers(world: World) -> Iterator[list[tuple[int, float, bytes]]]:
    """READERS of the archive that come again and again. Yields what they got, as it comes."""
    found: list[tuple[int, float, bytes]] = []
    is_over = Event()

    def work() -> None:
        while not is_over.is_set():
            found.append(world.read())
            is_over.wait(0.2)

    with ThreadPoolExecutor(READERS) as pool:
        for _ in range(READERS):
            pool.submit(work)
        try:
            yield found
        finally:
            is_over.set()


def test_slow_storage_refuses_nobody(world: World) -> None:
    world.proxy.fault = "slow"
    try:
        with readers(world) as got:
            began = time.monotonic()
            while time.monotonic() < began + SILENCE_SECONDS + 4:
                assert {status for status, _ in world.others().values()} == {200}
                assert world.metrics()["larder_circuits_open", "storage"] == 0
    finally:
        world.proxy.fault = ""
    assert len(got) >= READERS
    assert {status for status, _, _ in got} == {200}


def test_storage_of_which_every_second_answer_hangs_costs_only_its_readers(world: World) -> None:
    world.proxy.fault = "half"
    try:
        with readers(world):
            began = time.monotonic()
            while time.monotonic() < began + SILENCE_SECONDS + 4:
                for path, (status, seconds) in world.others().items():
                    assert status == 200, path
                    assert seconds < PROMPT_SECONDS, path
                assert world.metrics()["larder_outside_waiting", "storage"] <= 8 + 2
            world.proxy.fault = ""
    finally:
        world.proxy.fault = ""
    eventually(lambda: world.read()[::2] == (200, BODY), 20, what="the archive")


def test_stopped_storage_takes_no_connection_no_thread_and_no_page(world: World) -> None:
    assert world.read()[::2] == (200, BODY)
    with world.storage.hanging(), readers(world) as got:
        began = time.monotonic()
        eventually(lambda: world.metrics()["larder_outside_waiting", "storage"], 10, what="readers that wait")
        in_use = []
        while time.monotonic() < began + SILENCE_SECONDS + 4:
            for path, (status, seconds) in world.others().items():
                assert status == 200, path
                assert seconds < PROMPT_SECONDS, path
            figures = world.metrics()
            in_use.append(figures["larder_database_connections", "in_use"])
            assert figures["larder_outside_waiting", "storage"] <= 8 + 2, "half of the threads, the watch, the health"
        assert min(in_use) <= 1, "who waits for storage has a connection"
        assert "database_connections_exhausted" not in world.larder.output.read_text()
        assert figures["larder_circuits_open", "storage"] == 1
        assert figures["larder_part_up", "storage"] == 0
        assert figures["larder_part_up", "database"] == 1
        # From here on nobody waits.
        late = len(got)
        eventually(lambda: len(got) > late + 2 * READERS, 20, what="answers to all readers")
        assert {(status, seconds < 2) for status, seconds, _ in got[late + READERS :]} == {(503, True)}
    began = time.monotonic()
    eventually(lambda: world.read()[::2] == (200, BODY), 20, what="the archive")
    assert time.monotonic() - began < 10
    eventually(lambda: world.metrics()["larder_circuits_open", "storage"] == 0, what="a closed circuit")
    httpx.get(f"{world.larder.url}/readyz", verify=False).raise_for_status()  # noqa: S501
