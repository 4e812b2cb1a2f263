"""The broker of one machine: a folder, several processes that write, several that read."""

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Producer, Queue

from tests.live import CHECKOUT

QUEUE = Queue("celery", routing_key="celery")
WRITERS, MESSAGES = 3, 300
# Each message says which one it is, and is long enough to be caught half written.
WRITE = """
import sys
from tests.site.backends.test_folder_broker import QUEUE, connect, ring
with connect(sys.argv[1]) as broker:
    for number in range(int(sys.argv[3])):
        ring(broker, f"{sys.argv[2]}-{number}")
"""
# What a process does whose files may not grow: the kernel refuses each write, as on a full disk.
WRITE_ON_A_FULL_DISK = """
import resource, signal, sys
from tests.site.backends.test_folder_broker import connect, ring
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with connect(sys.argv[1]) as broker:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    try:
        ring(broker, "one")
    except broker.connection_errors as error:
        print(type(error).__name__)
"""


def connect(folder: Path | str) -> Connection:
    options = {"folder": str(folder), "polling_interval": 0.01}
    return Connection(transport="registry_site.backends.folder_broker:Transport", transport_options=options)


def ring(broker: Connection, number: str) -> None:
    """Ring like Celery: a task message of its second protocol."""
    headers = {"id": number, "task": "publish-module", "padding": "x" * 4000}
    with broker.channel() as channel:
        Producer(channel, QUEUE.exchange).publish(
            [[], {"job_id": 1}, {}], routing_key="celery", declare=[QUEUE], headers=headers, serializer="json"
        )


def write(folder: Path, *arguments: str, program: str = WRITE) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program, str(folder), *arguments], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    )


class Reader(threading.Thread):
    """Takes what comes until nobody writes any more and nothing is left."""

    def __init__(self, folder: Path, is_over: threading.Event) -> None:
        super().__init__()
        self.folder, self.is_over = folder, is_over
        self.taken: list[str] = []

    def run(self) -> None:
        with connect(self.folder) as broker, Consumer(broker, [QUEUE], callbacks=[self.take], accept=["json"]):
            while True:
                was_over = self.is_over.is_set()
                try:
                    broker.drain_events(timeout=0.1)
                except TimeoutError:
                    if was_over:
                        return

    def take(self, _body: Any, message: Any) -> None:
        self.taken.append(message.headers["id"])
        message.ack()


@pytest.mark.slow
def test_what_several_write_and_several_read_arrives_once_each(tmp_path: Path) -> None:
    folder, is_over = tmp_path / "messages", threading.Event()
    readers = [Reader(folder, is_over) for _ in range(2)]
    writers = [write(folder, str(number), str(MESSAGES)) for number in range(WRITERS)]
    for reader in readers:
        reader.start()
    for writer in writers:
        writer.communicate(timeout=60)
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    is_over.set()
    for reader in readers:
        reader.join(timeout=60)
    taken = Counter(number for reader in readers for number in reader.taken)
    assert taken == Counter(f"{writer}-{number}" for writer in range(WRITERS) for number in range(MESSAGES))
    assert list(folder.iterdir()) == []


def test_the_oldest_comes_first(tmp_path: Path) -> None:
    is_over = threading.Event()
    with connect(tmp_path) as broker:
        for number in range(30):
            ring(broker, str(number))
    is_over.set()
    reader = Reader(tmp_path, is_over)
    reader.run()
    assert reader.taken == [str(number) for number in range(30)]


def test_a_full_disk_is_a_broker_that_is_away_and_leaves_nothing_behind(tmp_path: Path) -> None:
    said, _ = write(tmp_path, program=WRITE_ON_A_FULL_DISK).communicate(timeout=60)
    assert said == "OSError\n"
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_goes_with_the_next_connection(tmp_path: Path) -> None:
    old, new = tmp_path / ".1_old.celery.msg", tmp_path / ".2_new.celery.msg"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    with connect(tmp_path) as broker:
        broker.ensure_connection(max_retries=1)
    assert list(tmp_path.iterdir()) == [new]


def test_a_folder_that_vanished_comes_back_with_the_next_message(tmp_path: Path) -> None:
    folder = tmp_path / "messages"
    with connect(folder) as broker:
        broker.ensure_connection(max_retries=1)
        folder.rmdir()
        ring(broker, "one")
    assert len(list(folder.iterdir())) == 1
