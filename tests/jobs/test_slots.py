"""The slots of a worker with processes: work in bulk leaves one free, and what a killed process had is free again."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from apps.jobs import slots
from tests.jobs import prefork_worker
from tests.live import CHECKOUT, environment_of
from tests.postgres import free_port, wait
from tests.sharing import COPY
from tests.site.processes import eventually

fork = multiprocessing.get_context("fork")


class Process:
    """One of a pool: does what it is told, and answers."""

    def __init__(self, shared: slots.Slots) -> None:
        self._here, there = fork.Pipe()
        self.process = fork.Process(target=_obey, args=(shared, there), daemon=True)
        self.process.start()

    def take(self, *, in_bulk: bool) -> bool:
        self._here.send(("take", in_bulk))
        return bool(self._here.recv())

    def give_back(self, *, in_bulk: bool) -> None:
        self._here.send(("give_back", in_bulk))
        self._here.recv()

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def _obey(shared: slots.Slots, pipe: Connection) -> None:
    while True:
        name, in_bulk = pipe.recv()
        pipe.send(getattr(shared, name)(in_bulk=in_bulk))


@pytest.fixture
def pool(settings: Any) -> Iterator[list[Process]]:
    settings.WORKER_CONCURRENCY = 3
    shared = slots.OfProcesses()
    with ExitStack() as stack, shared._file:
        made = [Process(shared) for _ in range(3)]
        for one in made:
            stack.callback(one.kill)
        yield made


def test_processes_leave_one_of_them_to_what_somebody_waits_for(pool: list[Process]):
    first, second, third = pool
    assert [first.take(in_bulk=True), second.take(in_bulk=True)] == [True, True]
    assert not third.take(in_bulk=True)
    assert third.take(in_bulk=False)

    third.give_back(in_bulk=False)
    second.give_back(in_bulk=True)
    assert third.take(in_bulk=True)


def test_processes_begin_no_work_in_bulk_while_a_person_waits_but_not_for_ever(
    pool: list[Process], monkeypatch: pytest.MonkeyPatch
):
    first, second, third = pool
    assert first.take(in_bulk=True), "as none has begun for long"
    first.give_back(in_bulk=True)
    assert second.take(in_bulk=False)
    assert third.take(in_bulk=False)
    assert not first.take(in_bulk=True)
    second.give_back(in_bulk=False)
    assert not first.take(in_bulk=True), "the third one's goes on"
    third.give_back(in_bulk=False)
    assert first.take(in_bulk=True)


def test_the_slot_of_a_process_that_is_killed_is_free_again(pool: list[Process]):
    first, second, third = pool
    assert [first.take(in_bulk=True), second.take(in_bulk=True)] == [True, True]
    first.kill()
    assert third.take(in_bulk=True)


@pytest.mark.live
@pytest.mark.needs("redis-server")
def test_a_prefork_worker_begins_what_somebody_waits_for_beside_work_in_bulk(django_db_setup: None, tmp_path: Path):
    port, log = free_port(), tmp_path / "log.txt"
    environment = environment_of(
        tmp_path / "data",
        free_port(),
        LARDER_BROKER_URL=f"redis://127.0.0.1:{port}/0",
        LARDER_WORKER_POOL="prefork",
        LARDER_WORKER_CONCURRENCY="2",
        LARDER_WORKER_QUEUES="check",
    )
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copyfile(COPY, tmp_path / "data" / "db.sqlite3")
    redis = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    words = [sys.executable, "-m", "tests.jobs.prefork_worker", str(log)]
    with ExitStack() as stack, (tmp_path / "output.txt").open("wb") as output:
        for command in (redis, words):
            process = subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=output, stderr=output)
            stack.callback(process.wait, 30)
            stack.callback(os.kill, process.pid, signal.SIGTERM)
            if command is redis:
                wait(process, port)
        eventually(
            lambda: log.exists() and log.read_text().count(" end ") == 5, seconds=240, what="the end of all five"
        )
    rows = [line.split() for line in log.read_text().splitlines()]
    times = {(what, int(number)): float(at) for at, what, number in rows}
    order = [(what, int(number)) for _, what, number in sorted(rows, key=lambda row: float(row[0]))]
    assert times["begin", prefork_worker.AWAITED] < times["end", 1], "it found a process"
    in_bulk = [step for step in order if step[1] != prefork_worker.AWAITED]
    assert in_bulk == [(what, number) for number in range(1, 5) for what in ("begin", "end")], "one after the other"
