"""A worker that takes no more work is ended; one that is busy, waits for the broker, or slept with its host is not."""

import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest
from celery import Celery
from kombu import Queue

from apps.jobs import heartbeats
from registry_site.backends.activity import Activity
from registry_site.server import serving, watchdog
from registry_site.server.watchdog import MAX_LOOKS_ASLEEP, Broker, BrokerAway, Watchdog
from tests.rows import for_each_row
from tests.site.front.hosts import Server
from tests.site.processes import eventually

SLOTS = 2
DAY = 86_400 // int(watchdog.EVERY.total_seconds())  # looks


class Worker:
    """A worker whose loop does what a test says between two looks."""

    def __init__(self) -> None:
        self.activity, self.stopping = Activity(), threading.Event()
        self.queues: set[str] = set()
        self.busy = 0
        self.is_broker_away = False
        self.ended: list[str] = []
        self.watchdog = Watchdog(
            self.waiting,
            slots=SLOTS,
            busy=lambda: self.busy,
            end=self.ended.append,
            stopping=self.stopping,
            activity=self.activity,
        )
        self.watchdog.ready.set()

    def waiting(self) -> set[str]:
        if self.is_broker_away:
            raise BrokerAway
        return self.queues

    def looked_at(self, times: int = 1, **done: int) -> bool:
        """Have the loop do so much before each look; answer whether the worker is well, and was not ended."""
        for _ in range(times):
            for name, count in done.items():
                setattr(self.activity, name, getattr(self.activity, name) + count)
            self.watchdog.look()
        return self.watchdog.is_well() and not self.ended


IDLE = {"rounds": 5, "listens": 5}
# What the loop does between two looks of a minute, and what the worker is ended for.
ASLEEP = {
    "stands_still": ({}, set()),
    "no_socket": ({"rounds": 5}, set()),
    "takes_nothing": (IDLE, {"check"}),
}


@pytest.fixture
def worker() -> Worker:
    return Worker()


@for_each_row("reason, done, queues", [(reason, *how) for reason, how in ASLEEP.items()])
def test_a_worker_that_sleeps_for_a_minute_is_ended(reason, done, queues):
    worker = Worker()
    assert worker.looked_at(**IDLE)

    worker.queues = queues
    assert not worker.looked_at(MAX_LOOKS_ASLEEP - 1, **done)
    assert worker.ended == []
    assert not worker.looked_at(**done)
    assert worker.ended == [reason]
    assert watchdog.EVERY.total_seconds() * MAX_LOOKS_ASLEEP == 60


def test_one_that_works_again_in_time_is_not_ended(worker):
    for _ in range(3):
        assert not worker.looked_at(MAX_LOOKS_ASLEEP - 1, rounds=5)
        assert worker.looked_at(**IDLE)
    assert worker.ended == []


def test_an_idle_one_and_one_with_a_long_queue_are_well(worker):
    assert worker.looked_at(DAY, **IDLE)
    worker.queues = {"check"}
    assert worker.looked_at(DAY, rounds=5, taken=1)


def test_a_task_of_hours_in_each_slot_is_work(worker):
    worker.busy, worker.queues = SLOTS, {"check"}

    assert worker.looked_at(DAY, rounds=5)


@for_each_row("done", [{}, {"rounds": 5}, IDLE])
def test_what_else_is_wrong_is_judged_when_the_task_has_ended(done):
    """It is told at once, so that the alerts for its queues see one worker less."""
    worker = Worker()
    worker.busy, worker.queues = 1, {"check"}
    assert not worker.looked_at(DAY, **done)
    assert worker.ended == []

    worker.busy = 0
    worker.looked_at(MAX_LOOKS_ASLEEP, **done)
    assert len(worker.ended) == 1


def test_a_worker_is_not_ended_for_its_broker(worker):
    """Nor soon after the broker is back: it may need as long as any other to connect."""
    worker.looked_at(MAX_LOOKS_ASLEEP - 1)
    worker.is_broker_away = True
    assert not worker.looked_at(DAY)
    worker.is_broker_away = False
    assert not worker.looked_at(MAX_LOOKS_ASLEEP - 1)
    assert worker.ended == []


def test_a_host_that_was_suspended_costs_one_look(worker, monkeypatch):
    assert worker.looked_at(**IDLE)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 86_400)
    assert not worker.watchdog.is_well()

    worker.looked_at()  # its loop has had no time yet
    assert worker.ended == []
    assert worker.looked_at(**IDLE)


def test_one_that_starts_or_was_told_to_stop_is_not_ended(worker):
    worker.watchdog.ready.clear()
    assert not worker.looked_at(DAY)
    worker.watchdog.ready.set()
    worker.stopping.set()
    assert not worker.looked_at(DAY)
    assert worker.ended == []


@pytest.mark.django_db
def test_only_a_worker_that_is_well_reports(worker):
    """Else no alert would tell that nothing takes what waits."""
    worker.looked_at(rounds=5)
    serving._report_if_well(worker.watchdog)
    assert heartbeats.newest() is None

    worker.looked_at(**IDLE)
    serving._report_if_well(worker.watchdog)
    assert heartbeats.newest("check") is not None


def told(worker: Worker, own: socket.socket, times: int) -> list[bytes]:
    """Return the messages that systemd receives with each look at a worker that sleeps."""
    heard = []
    for _ in range(times):
        worker.looked_at()
        try:
            heard.append(own.recv(100, socket.MSG_DONTWAIT))
        except BlockingIOError:
            heard.append(b"")
    return heard


@for_each_row("abstract", [False, True])
def test_systemd_is_told_with_each_look_until_the_worker_is_to_end(tmp_path, monkeypatch, abstract):
    name = f"larder-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        own.bind(f"\0{name}" if abstract else name)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if abstract else name)
        heard = told(Worker(), own, MAX_LOOKS_ASLEEP + 3)
    Path(name).unlink(missing_ok=True)

    assert heard == [b"WATCHDOG=1"] * (MAX_LOOKS_ASLEEP - 1) + [b""] * 4


def test_without_systemd_nothing_is_told(monkeypatch, worker):
    for address in ("", "/no/such/socket"):
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        assert worker.looked_at(**IDLE)


def test_a_folder_that_cannot_be_used_is_a_broker_that_is_away(tmp_path):
    """Its content is no reason to end a worker: some files cannot be removed, and are never taken."""
    folder = tmp_path / "queue" / "messages"
    app = Celery(broker="folder://", set_as_current=False)
    app.conf.broker_transport_options = {"folder": str(folder)}
    broker = Broker(app, ["check"])
    assert broker.waiting() == set()

    (folder / "0.check.msg").mkdir()
    assert broker.waiting() == set()
    shutil.rmtree(tmp_path / "queue")
    (tmp_path / "queue").touch()
    with pytest.raises(BrokerAway):
        broker.waiting()


# --- With a Redis -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.needs("redis-server")
def test_it_asks_the_broker_what_waits_by_a_connection_of_its_own():
    server = Server()
    app = Celery(broker=server.url, set_as_current=False)  # whose transport is that of registry_site/celery.py
    app.conf.broker_transport_options = {"socket_timeout": 0.5, "socket_connect_timeout": 0.5}
    broker = Broker(app, ["check", "notify"])

    def is_away() -> bool:
        try:
            broker.waiting()
        except BrokerAway:
            return True
        return False

    try:
        assert broker.waiting() == set()
        with app.connection_for_write() as connection:
            Queue("notify", routing_key="notify", channel=connection.default_channel).declare()
            connection.Producer().publish({}, routing_key="notify")
        assert broker.waiting() == {"notify"}
        for breaks, heals in (
            (server.freeze, server.thaw),
            (server.end, server.start),
            # It tells lengths and gives nothing out, as one whose disk is full.
            (lambda: server.redis.replicaof("127.0.0.1", "1"), lambda: server.redis.replicaof("NO", "ONE")),
        ):
            breaks()
            assert is_away()
            heals()
            eventually(lambda: not is_away(), what="an answer")
    finally:
        server.end()
