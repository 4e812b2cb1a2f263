"""Close connections that send no request, or stop reading their answer.

granian 2.8.7 accepts 1,024 connections a process and waits for ever for the first byte of a request, so that many
silent ones would stop it. It offers no way to close one, so this works on the process's own sockets.
"""

import array
import contextlib
import fcntl
import os
import socket
import stat
import struct
import sys
import termios
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings

INTERVAL = 2.0
# Longer than proxies keep unused connections (60 s), or they would use one that was just closed.
IDLE_SECONDS = 90
# With so many connections the patience is shorter.
CROWD = 512
CROWD_SECONDS = 5
# Only Linux tells how much of what was sent has arrived.
WATCHES_FILES = sys.platform == "linux"
_BYTES_ACKED = 120  # its place in struct tcp_info (linux/tcp.h)

# granian's word for a file that it sends by itself.
PATHSEND = "http.response.pathsend"

Peer = tuple[str, int]

log = structlog.get_logger("larder.asgi")


def is_http2(scope: Any) -> bool:
    return bool(scope["http_version"].startswith("2"))


def can_send_files(scope: Any) -> bool:
    """Return whether a file may leave by itself.

    Over HTTP/2 it is unknown whether it is still being read: the connection continues with other answers.
    """
    return WATCHES_FILES and not is_http2(scope) and PATHSEND in (scope.get("extensions") or {})


def client_of(scope: Any) -> Peer:
    address, port = scope.get("client") or ("", 0)
    return address, int(port)  # granian passes it as text


Progress = tuple[int, int]
_NOTHING = (0, 0)


@dataclass(slots=True)
class Known:
    """One connection: its running `requests`, and since when there is none.

    `file` is the path of a file that granian sends after its request has ended; `progress`: how many bytes have
    arrived, and how many wait for the client to read. While it moves on, the connection does not rest.
    """

    requests: int = 0
    has_asked: bool = False
    since: float = field(default_factory=time.monotonic)
    file: str = ""
    progress: Progress = _NOTHING

    @property
    def is_stalled(self) -> bool:
        return self.progress[1] > 0

    def look(self, progress: Progress) -> None:
        if progress != self.progress:
            self.progress = progress
            self.since = time.monotonic()

    def is_overdue(self, *, is_crowded: bool) -> bool:
        patience = IDLE_SECONDS if self.has_asked else settings.CLIENT_TIMEOUT
        if self.is_stalled:
            patience = 2 * settings.CLIENT_TIMEOUT
        elif is_crowded:
            patience = min(patience, CROWD_SECONDS)
        return not self.requests and time.monotonic() - self.since > patience


class Connections:
    def __init__(self) -> None:
        self._known: dict[Peer, Known] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def request(self, client: Peer) -> Iterator[None]:
        """Count a request for as long as it runs."""
        with self._lock:
            known = self._known.setdefault(client, Known())
            known.requests += 1
            known.has_asked = True
            known.file, known.progress = "", _NOTHING  # over HTTP/1.1 the last answer has been read
        try:
            yield
        finally:
            with self._lock:
                known.requests -= 1
                known.since = time.monotonic()

    def sends_file(self, client: Peer, path: str) -> None:
        """From the end of this request on, watch how its answer is read."""
        with self._lock:
            self._known.setdefault(client, Known()).file = path

    def cut(self, client: Peer) -> None:
        for peer, connection in _open():
            if peer == client:
                _shut(connection)

    def sweep(self) -> None:
        """Close overdue connections."""
        started = time.monotonic()
        found: dict[Peer, Progress] = {}
        for peer, connection in _open():
            known = self._known.get(peer)
            found[peer] = _sent(connection) if known is not None and known.file else _NOTHING
        with self._lock:
            # One that came after the look at the sockets is no stranger at the next one.
            kept = {peer: one for peer, one in self._known.items() if peer in found or one.since > started}
            self._known = {peer: Known() for peer in found} | kept
            for peer, progress in found.items():
                self._known[peer].look(progress)
            is_crowded = len(found) >= CROWD
            overdue = {peer: one for peer, one in self._known.items() if one.is_overdue(is_crowded=is_crowded)}
        if overdue:
            for peer, connection in _open():
                if peer in overdue:
                    _shut(connection)
        for one in overdue.values():
            if one.is_stalled:
                log.info("client_stalled", path=one.file)

    def watch(self) -> None:
        def forever() -> None:
            while True:
                time.sleep(INTERVAL)
                self.sweep()

        threading.Thread(target=forever, daemon=True, name="connections").start()


def _open() -> Iterator[tuple[Peer, socket.socket]]:
    """Yield each connection to the listening port, through the server's own descriptor.

    Never duplicate a descriptor: closing any descriptor of SQLite's files, by mistake or in a race, would release the
    process's locks on the database. The server may close its descriptor at any time, so a yielded one was checked just
    before.
    """
    for entry in list(Path("/dev/fd").iterdir()):
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(entry.name)).st_mode):
                continue
            connection = socket.socket(fileno=int(entry.name))
            try:
                if connection.family in (socket.AF_INET, socket.AF_INET6):
                    host, port = connection.getpeername()[:2]
                    if connection.getsockname()[1] == settings.LISTEN_PORT:
                        yield (host.partition("%")[0], port), connection
            finally:
                connection.detach()


def _sent(connection: socket.socket) -> Progress:
    with contextlib.suppress(OSError):  # it may be closed at any time
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        (arrived,) = struct.unpack_from("Q", info, _BYTES_ACKED)
        waiting = array.array("i", [0])
        fcntl.ioctl(connection, termios.TIOCOUTQ, waiting)
        return arrived, waiting[0]
    return _NOTHING


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


connections = Connections()
