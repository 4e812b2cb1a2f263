"""Disks that are full while uploads go on: under SQLite, under the storage, and under the homes in which gpg signs."""

import hashlib
import os
import random
import re
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.builders.archives import MODULE as MODULE_FILES
from tests.builders.archives import module_zip
from tests.flows.crashing import check_signature, hand_in, make_key
from tests.live import Live, start_live
from tests.mounts import filled, memory_of, small_disk, with_small_memory
from tests.signing.conftest import agents_in
from tests.site.processes import descendants, eventually, parents

pytestmark = [
    pytest.mark.live,
    pytest.mark.nightly,
    pytest.mark.needs("mounts"),
    pytest.mark.embedded("fills the disks of one machine"),
    pytest.mark.timeout(600),
]

SECONDS = float(os.environ.get("CHAOS_SECONDS", "3"))
MODULE = "full/vpc/aws"
UPLOADERS = 2
PAUSE_SECONDS = 0.2
NUMBERS = count()


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Its data, its storage and its memory are disks of their own."""
    folder = tmp_path_factory.mktemp("small")
    variables = {
        "LARDER_STORAGE_URL": f"file://{folder / 'storage'}",
        "LARDER_JOB_LEASE_SECONDS": "5",
    }
    with (
        small_disk(folder / "data", 64),
        small_disk(folder / "storage", 64),
        start_live(folder, why="its disks and its memory are full", within=with_small_memory(8), **variables) as found,
    ):
        token = found.token()
        with found.client(token) as client:
            make_key(client, "full", "ed25519")
        assert found.publish(MODULE, "0.1.0", module_zip(), token)["state"] == "published"
        yield found


@pytest.fixture
def storage(larder: Live) -> Path:
    return Path(larder.environment["LARDER_STORAGE_URL"].removeprefix("file://"))


@dataclass
class Uploads:
    larder: Live
    token: str
    answers: Counter[int] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)  # what people read then
    acknowledged: dict[str, str] = field(default_factory=dict)  # the digest of what was sent, by the release's URL

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """From before the block, which begins after some were acknowledged, until some are again."""
        over = threading.Event()
        threads = [threading.Thread(target=self._send, args=(over,)) for _ in range(UPLOADERS)]
        for thread in threads:
            thread.start()
        try:
            self.wait_for(202)
            yield
            self.wait_for(202)
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def wait_for(self, status: int, more: int = 3) -> None:
        wanted = self.answers[status] + more
        eventually(lambda: self.answers[status] >= wanted, what=f"answers {status}")

    def _send(self, over: threading.Event) -> None:
        with self.larder.client(self.token) as client:
            while not over.is_set():
                version = f"1.0.{next(NUMBERS)}"
                data = module_zip(MODULE_FILES | {"noise.txt": random.randbytes(30_000).hex()})
                answer = client.put(f"/api/v1/modules/{MODULE}/{version}", content=data)
                self.answers[answer.status_code] += 1
                if answer.status_code == 202:
                    self.acknowledged[f"/api/v1/releases/{answer.json()['id']}"] = hashlib.sha256(data).hexdigest()
                else:
                    self.refusals.append(answer.json()["error"]["message"])
                time.sleep(PAUSE_SECONDS)

    def check(self) -> None:
        """None that was acknowledged is lost, and what is downloaded is what was sent."""
        assert set(self.answers) <= {202, 503, 507}, (self.answers, self.refusals)
        with self.larder.client(self.token) as client:
            for url, sent in self.acknowledged.items():
                document = self.larder.wait_for(client, url)
                assert document["state"] == "published", document
                found = client.get(f"/v1/modules/{MODULE}/{document['version']}/download").json()
                archive = client.get(found["location"].partition("?")[0], follow_redirects=True)
                assert hashlib.sha256(archive.content).hexdigest() == sent


@pytest.fixture
def uploads(larder: Live) -> Iterator[Uploads]:
    """At the end every process is the one that it was."""
    before = children_of(larder)
    yield Uploads(larder, larder.token())
    assert children_of(larder) == before, larder.output.read_text()[-4000:]


def children_of(larder: Live) -> set[int]:
    """The web server and the worker."""
    return {process for process, parent in parents().items() if parent == larder.process.pid}


def files_in(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file()]


def test_a_full_disk_under_the_database_loses_nothing(larder: Live, uploads: Uploads) -> None:
    database = larder.data_dir / "db.sqlite3"
    with uploads.going_on():
        with closing(sqlite3.connect(database, timeout=30)) as own:
            own.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # or there would be room in its file
        with filled(larder.data_dir):
            uploads.wait_for(503)
            time.sleep(SECONDS)
            with larder.client() as reader:
                assert reader.get(f"/v1/modules/{MODULE}/versions").status_code == 200
    uploads.check()
    assert "The disk of the database is full." in uploads.refusals
    with closing(sqlite3.connect(database, timeout=30)) as own:
        # Constraints call this function, which Django has elsewhere.
        own.create_function("REGEXP", 2, lambda pattern, text: re.search(pattern, str(text)) is not None)
        assert own.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_full_disk_under_the_storage_loses_nothing(larder: Live, uploads: Uploads, storage: Path) -> None:
    with uploads.going_on(), filled(storage):
        uploads.wait_for(503)
        time.sleep(SECONDS)
    assert {"The disk for uploads is full."} == set(uploads.refusals)
    uploads.check()
    eventually(lambda: not files_in(storage / "staging"), what="an empty staging folder")


def test_a_disk_that_fills_in_the_middle_of_an_upload_leaves_nothing_of_it(uploads: Uploads, storage: Path) -> None:
    half = random.randbytes(4_000_000)
    url = f"/api/v1/modules/{MODULE}/2.0.{next(NUMBERS)}"

    def half_written() -> list[Path]:
        return list((storage / "staging").glob(".*.part"))

    def body() -> Iterator[bytes]:
        yield half
        eventually(half_written, what="the first half")
        full.enter_context(filled(storage))
        yield half

    with uploads.larder.client(uploads.token) as client:
        with ExitStack() as full:
            answer = client.put(url, content=body(), headers={"Content-Length": str(2 * len(half))})
            assert answer.status_code == 503, answer.text
            assert half_written() == []
        assert client.put(url, content=module_zip()).status_code == 202, "the number is free"


def test_a_release_waits_for_room_to_sign_in_and_leaves_no_private_key(
    larder: Live, uploads: Uploads, tmp_path: Path
) -> None:
    memory, version = memory_of(larder.process.pid), f"3.0.{next(NUMBERS)}"
    with larder.client(uploads.token) as client:
        with filled(memory):
            url = hand_in(client, "full", version)
            eventually(lambda: larder.query(JOB.format("fence")) > 1, what="a second try")
            time.sleep(SECONDS)
            assert larder.query(JOB.format("attempts")) <= 1, "a try without room does not count"
            assert client.get(url).json()["state"] in ("received", "checking", "signing")
        assert larder.wait_for(client, url)["state"] == "published"
        check_signature(client, "full", version, tmp_path)
    workers = descendants(larder.process.pid)
    eventually(lambda: not any(agents_in(f"larder-gpg-{process}-") for process in workers), what="the end of agents")
    assert [path.name for path in memory.glob("larder-gpg-*")] == []


JOB = "SELECT {} FROM jobs_job WHERE kind = 'publish-provider' ORDER BY id DESC LIMIT 1"
