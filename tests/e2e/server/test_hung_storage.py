"""Storage that hangs costs its readers their files, and nobody else anything."""

import json
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
from tests import dumps, postgres, s3
from tests.builders.archives import module_zip
from tests.chaos.faulty_storage import Proxy
from tests.live import Live, start_live
from tests.site.monitoring.test_metrics import samples_of
from tests.site.processes import eventually

pytestmark = [
    pytest.mark.live,
    pytest.mark.slow,
    pytest.mark.needs("postgres"),
    pytest.mark.embedded("stops its S3"),
]

READERS = 20
CONNECTIONS = 4  # fewer than half of its threads
BODY = module_zip(comment=b"is stored in S3")


@dataclass
class Asked:
    """When a request began and ended, and how."""

    began: float
    ended: float
    status: int
    body: bytes

    def overtook(self, other: "Asked") -> bool:
        """It began later, and ended earlier."""
        return self.began > other.began and self.ended < other.ended


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

    def ask(self, path: str, token: str = "") -> Asked:
        began = time.monotonic()
        with self.larder.client(token) as client:
            answer = client.get(path, timeout=60)
        return Asked(began, time.monotonic(), answer.status_code, answer.content)

    def is_whole(self) -> bool:
        """Return whether the archive is answered."""
        answer = self.ask(self.archive)
        return (answer.status, answer.body) == (200, BODY)

    def others(self) -> dict[str, Asked]:
        """Return the answers that need no storage, by Django."""
        found, number = {}, next(self.numbers)
        for path in ("/modules", "/help", "/v1/modules/acme/vpc/aws/versions", "/api/v1/modules", "/readyz"):
            # Another question each time, so that no ready answer is repeated; the API has none.
            found[path] = self.ask(path if path.startswith("/api/") else f"{path}?number={number}", self.token)
            assert found[path].status == 200, path
        assert json.loads(found["/readyz"].body)["parts"]["database"] == "ok"
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with s3.running() as storage:
        s3.make_bucket(f"http://127.0.0.1:{storage.port}", "hung")
        proxy = Proxy(storage.port)
        variables = {
            **s3.KEYS,
            "LARDER_STORAGE_URL": f"s3://hung/larder?endpoint=http://127.0.0.1:{proxy.port}&region=us-east-1",
            "LARDER_DATABASE_URL": dumps.fill(postgres.start()),
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
def readers(world: World) -> Iterator[list[Asked]]:
    """READERS of the archive that come again and again. Yields what they got, as it comes."""
    found: list[Asked] = []
    is_over = Event()

    def work() -> None:
        while not is_over.is_set():
            found.append(world.ask(world.archive))
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
                world.others()
                assert world.metrics()["larder_circuits_open", "storage"] == 0
    finally:
        world.proxy.fault = ""
    assert len(got) >= READERS
    assert {one.status for one in got} == {200}


def watched(world: World, got: list[Asked]) -> tuple[list[dict[str, Asked]], float]:
    """Return what others were answered until the circuit opened and each reader was answered once, and the fewest
    connections that were in use at a time while readers waited.
    """
    found, in_use = [], float(CONNECTIONS)
    eventually(lambda: world.metrics()["larder_outside_waiting", "storage"], what="readers that wait")
    is_open = False
    while not (is_open and len(got) > READERS):
        found.append(world.others())
        figures = world.metrics()
        assert figures["larder_outside_waiting", "storage"] <= 8 + 2, "half of the threads, the watch, the health"
        if figures["larder_outside_waiting", "storage"]:
            in_use = min(in_use, figures["larder_database_connections", "in_use"])
        is_open = is_open or figures["larder_circuits_open", "storage"] == 1
    return found, in_use


def test_storage_of_which_every_second_answer_hangs_is_left_alone_until_it_answers_again(world: World) -> None:
    world.proxy.fault = "half"
    try:
        with readers(world) as got:
            rounds, _ = watched(world, got)
    finally:
        world.proxy.fault = ""
    for path in rounds[0]:
        assert any(one[path].overtook(reader) for one in rounds for reader in got), path
    assert '"share"' in world.larder.output.read_text()
    eventually(world.is_whole, what="the archive")
    eventually(lambda: world.metrics()["larder_circuits_open", "storage"] == 0, what="a closed circuit")


def test_stopped_storage_takes_no_connection_no_thread_and_no_page(world: World) -> None:
    assert world.is_whole()
    with world.storage.hanging(), readers(world) as got:
        rounds, in_use = watched(world, got)
        assert in_use <= 1, "who waits for storage has a connection"
        assert "database_connections_exhausted" not in world.larder.output.read_text()
        # The health looks every few seconds.
        eventually(lambda: world.metrics()["larder_part_up", "storage"] == 0, what="a state")
        assert world.metrics()["larder_part_up", "database"] == 1
        # Who waited when the circuit opened leaves soon. From here on nobody waits: everybody is refused.
        eventually(lambda: world.metrics()["larder_outside_waiting", "storage"] <= 2, what="the end of all waits")
        late, refused = len(got), refusals(world)
        eventually(lambda: len(got) > late + 2 * READERS, what="answers to all readers")
        assert {one.status for one in got[late:]} == {503}
        assert refusals(world) - refused >= READERS
    for path in rounds[0]:
        assert any(one[path].overtook(reader) for one in rounds for reader in got), path
    eventually(world.is_whole, what="the archive")
    eventually(lambda: world.metrics()["larder_circuits_open", "storage"] == 0, what="a closed circuit")
    httpx.get(f"{world.larder.url}/readyz", verify=False).raise_for_status()  # noqa: S501


def refusals(world: World) -> float:
    return world.metrics()["larder_outside_refusals_total", "storage"]
