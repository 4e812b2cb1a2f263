"""Connections that ask for nothing are closed; nothing else of the process is touched."""

import contextlib
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from registry_site.server import connections
from registry_site.server.connections import Connections, Peer
from tests.site.processes import eventually

Pair = tuple[socket.socket, Peer]


@pytest.fixture
def ends(settings: Any) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client of this process's own listening port, and the server's end of its connection."""
    settings.CLIENT_TIMEOUT = 0.1
    with socket.create_server(("127.0.0.1", 0)) as listener:
        settings.LISTEN_PORT = listener.getsockname()[1]
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as server:
            client.settimeout(10)
            yield client, server


@pytest.fixture
def connected(ends: tuple[socket.socket, socket.socket]) -> Pair:
    """The client, and what the server knows it by."""
    return ends[0], ends[0].getsockname()


def is_open(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True


def test_one_that_never_asks_is_closed(connected: Pair) -> None:
    client, _ = connected
    kept = Connections()
    kept.sweep()
    assert is_open(client)
    time.sleep(0.2)
    kept.sweep()
    assert not is_open(client)


def test_one_that_is_answered_is_not(connected: Pair) -> None:
    client, peer = connected
    kept = Connections()
    with kept.request(peer):
        kept.sweep()
        time.sleep(0.2)
        kept.sweep()
    kept.sweep()
    assert is_open(client), "a request has just ended"


@pytest.mark.parametrize(
    "shorter", [{"IDLE_SECONDS": 0.1}, {"CROWD": 1, "CROWD_SECONDS": 0.1}], ids=["and then", "in a crowd"]
)
def test_one_that_has_asked_may_rest_for_longer_and_is_closed(
    connected: Pair, monkeypatch: pytest.MonkeyPatch, shorter: dict[str, float]
) -> None:
    client, peer = connected
    kept = Connections()
    with kept.request(peer):
        pass
    time.sleep(0.2)
    kept.sweep()
    assert is_open(client)
    for name, value in shorter.items():
        monkeypatch.setattr(connections, name, value)

    def is_closed() -> bool:
        kept.sweep()
        return not is_open(client)

    eventually(is_closed)


def fill(server: socket.socket) -> int:
    """Send as much of an endless file as there is room for. Raises BrokenPipeError once the connection is shut."""
    server.setblocking(False)
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            sent += server.send(bytes(65536))
    return sent


@pytest.mark.slow
@pytest.mark.parametrize("crowd", [1, 512])
def test_a_file_may_take_its_time_but_is_cut_when_nobody_reads_it(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch, crowd: int
) -> None:
    """granian sends it after the request has ended."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(connections, "CROWD", crowd)
    monkeypatch.setattr(connections, "CROWD_SECONDS", 0.1)
    client, server = ends
    kept = Connections()
    with kept.request(client.getsockname()):
        kept.sends_file(client.getsockname(), "/archives/one.zip")
    waiting = fill(server)
    for _ in range(4):
        kept.sweep()
        time.sleep(0.15)
        half = waiting // 2
        while waiting > half:
            waiting -= len(client.recv(65536))
        waiting += fill(server)

    def is_cut() -> bool:
        kept.sweep()
        try:
            fill(server)
        except BrokenPipeError:
            return True
        return False

    with capture_logs() as lines:
        eventually(is_cut)
    assert lines == [{"event": "client_stalled", "log_level": "info", "path": "/archives/one.zip"}]


def test_a_file_that_was_read_to_its_end_leaves_a_connection_that_rests(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, server = ends
    kept = Connections()
    with kept.request(client.getsockname()):
        kept.sends_file(client.getsockname(), "/archives/one.zip")
    server.sendall(b"a file")
    client.recv(100)
    kept.sweep()
    time.sleep(0.3)
    kept.sweep()
    assert is_open(client)

    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    kept.sweep()
    assert not is_open(client)


def test_a_download_that_is_not_read_is_cut_by_its_name(connected: Pair) -> None:
    client, peer = connected
    Connections().cut(("127.0.0.1", peer[1] + 1))
    assert is_open(client)
    Connections().cut(peer)
    assert not is_open(client)


def test_a_sweep_releases_no_lock_of_sqlite(connected: Pair, tmp_path: Path) -> None:
    """The system drops a process's locks on a file when it closes any descriptor of it, a copy as well."""
    database = sqlite3.connect(tmp_path / "db", isolation_level=None)
    database.execute("CREATE TABLE t (n)")
    database.execute("BEGIN EXCLUSIVE")
    Connections().sweep()

    program = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('SELECT * FROM t')"
    other = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "db")], capture_output=True, text=True, check=False
    )
    database.close()

    assert "database is locked" in other.stderr
