"""A worker outlives a Redis that dies while it has a ring that is not acknowledged, and waits for the next one."""

import logging
import queue
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from celery.worker.consumer import Consumer
from kombu import Connection, Message
from kombu.simple import SimpleQueue

from registry_site.backends.activity import of_this_worker
from registry_site.celery import app
from tests.site.front.hosts import Server
from tests.site.processes import eventually

pytestmark = pytest.mark.needs("redis-server")


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.end()


def holding_one_and_waiting(url: str) -> tuple[Connection, Message, list[SimpleQueue]]:
    """Return a worker's connection: one ring is not acknowledged, and it asks Redis for more over two channels."""
    connection = Connection(url)
    rings = SimpleQueue(connection.default_channel, "check")
    rings.put({"job": 1})
    ring = rings.get(timeout=5)
    others = SimpleQueue(connection.channel(), "notify")
    for one in (rings, others):
        with pytest.raises(queue.Empty):
            one.get(timeout=0.2)
        assert vars(one.channel)["_in_poll"]
    return connection, ring, [rings, others]


def test_a_redis_that_dies_while_a_ring_is_not_acknowledged_ends_no_worker(server, caplog):
    connection, ring, _queues = holding_one_and_waiting(server.url)
    worker: Any = Consumer.__new__(Consumer)  # what it does about a lost connection needs no more
    worker.app, worker.connection, worker.qos_global = app, connection, False
    worker.pool, worker.prefetch_multiplier = SimpleNamespace(num_processes=1), 1
    server.process.kill()
    server.process.wait()

    with pytest.warns(match="cancels all currently executed tasks"):
        worker.on_connection_error_after_connected(ConnectionError("gone"))

    assert worker.connection is None
    assert not connection.connected
    # A task that ends only now: said, and no more.
    ring.ack_log_error(logging.getLogger("celery"), connection.connection_errors)
    assert "Couldn't ack" in caplog.text


@pytest.mark.slow
def test_a_worker_that_ends_in_order_gives_its_rings_back(server):
    connection, _ring, _queues = holding_one_and_waiting(server.url)

    connection.close()

    with Connection(server.url) as other:
        assert SimpleQueue(other.default_channel, "check").get(timeout=5).payload == {"job": 1}


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """The path of a socket has 108 bytes, and that of TMPDIR may have more."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_a_broker_may_be_a_socket_of_this_host(tmp_path, short_folder):
    """For a worker without any network. The parts of the URL reach Redis: its user and password too."""
    path = short_folder / "redis.sock"
    words = ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(tmp_path)]
    (tmp_path / "users.acl").write_text("user default off\nuser larder on >secret ~* &* +@all\n")
    words += ["--aclfile", str(tmp_path / "users.acl")]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            eventually(lambda: probe.connect_ex(str(path)) == 0, what="Redis")
        with Connection(f"redis+socket://larder:secret@{path}") as connection:
            rings = SimpleQueue(connection.default_channel, "check")
            rings.put({"job": 1})
            assert rings.get(timeout=5).payload == {"job": 1}
    finally:
        process.kill()
        process.wait()


def busy(url: str, slots: int = 2) -> tuple[Connection, list[Message]]:
    """A consumer whose slots are all taken, so that it asks for no more."""
    connection = Connection(url)
    channel: Any = connection.default_channel
    channel.do_restore = False  # a worker that ends gives its rings back, which here needs a server that is gone
    rings = SimpleQueue(channel, "check")
    for number in range(slots + 1):
        rings.put({"job": number})
    taken = [rings.get(timeout=5) for _ in range(slots)]
    channel.basic_qos(prefetch_count=slots)
    return connection, taken


def drain(connection: Connection) -> None:
    """A round of the loop that finds nothing."""
    with pytest.raises(TimeoutError):
        connection.drain_events(timeout=0.2)


def end(server: Server) -> None:
    server.process.kill()
    server.process.wait()


def make_a_replica(server: Server) -> None:
    """Make a replica, which refuses what changes anything, as after a failover."""
    server.redis.replicaof("127.0.0.1", "1")


@pytest.mark.parametrize("lose", [end, make_a_replica], ids=lambda lose: lose.__name__)
@pytest.mark.parametrize("answer", ["ack", "reject", "requeue"])
def test_an_acknowledgement_that_is_lost_ends_the_connection(server, lose, answer):
    """kombu took the slot for busy from then on: once each had lost one, the worker asked for no more work."""
    connection, rings = busy(server.url)
    drain(connection)
    lose(server)
    with pytest.raises((*connection.connection_errors, *connection.channel_errors)):
        getattr(rings[0], answer)()

    with pytest.raises(connection.connection_errors, match="An acknowledgement was lost"):
        connection.drain_events(timeout=0.2)


def test_one_that_is_lost_ends_its_own_connection_once_and_the_next_one_never(server):
    connection, rings = busy(server.url)
    transport: Any = connection.transport
    asked_for_ever = transport.cycle.on_poll_start  # Celery's loop never forgets it
    end(server)
    with pytest.raises(connection.connection_errors):
        rings[0].ack()
    with pytest.raises(connection.connection_errors, match="An acknowledgement was lost"):
        asked_for_ever()
    asked_for_ever()
    connection.close()
    server.start()
    with pytest.raises(connection.connection_errors):
        rings[1].ack()  # of a task that ends only now
    asked_for_ever()

    others = SimpleQueue(connection.default_channel, "check")
    others.put({"job": 7})
    assert others.get(timeout=5).payload == {"job": 7}


def test_a_loop_that_waits_for_work_is_told_from_one_that_does_not(server):
    connection, rings = busy(server.url)
    before = of_this_worker.listens
    drain(connection)
    assert of_this_worker.listens == before, "each slot is taken"

    taken = of_this_worker.taken
    rings[0].ack()
    connection.drain_events(timeout=5)
    assert (of_this_worker.listens, of_this_worker.taken) == (before + 1, taken + 1)

    rings[1].ack()
    drain(connection)
    assert of_this_worker.listens > before + 1, "it waits for the next one"
    before = of_this_worker.listens
    channel: Any = connection.default_channel
    channel.basic_qos(prefetch_count=1)  # as Celery has it while tasks of a connection that was lost still run
    drain(connection)
    assert of_this_worker.listens == before, "Redis would answer, and no slot is free"
