"""Close connections that send no request, or stop reading their answer.

granian 2.8.7 accepts 1,024 connections a process and waits for ever for the first byte of a request, so that many
silent ones would stop it. It offers no way to close one, so this works on the process's own sockets.
"""

import contextlib
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

INTERVAL = 2.0
# Longer than proxies keep unused connections (60 s), or they would use one that was just closed.
IDLE_SECONDS = 90
# With so many connections the patience is shorter.
CROWD = 512
CROWD_SECONDS = 5

Peer = tuple[str, int]


@dataclass(slots=True)
class Known:
    """One connection: its running `requests`, and since when there is none."""

    requests: int = 0
    has_asked: bool = False
    since: float = field(default_factory=time.monotonic)

    def is_overdue(self, *, is_crowded: bool) -> bool:
        patience = IDLE_SECONDS if self.has_asked else settings.CLIENT_TIMEOUT
        if is_crowded:
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
        try:
            yield
        finally:
            with self._lock:
                known.requests -= 1
                known.since = time.monotonic()

    def cut(self, client: Peer) -> None:
        for peer, connection in _open():
            if peer == client:
                _shut(connection)

    def sweep(self) -> None:
        """Close overdue connections."""
        peers = [peer for peer, _ in _open()]
        with self._lock:
            self._known = {peer: self._known.get(peer) or Known() for peer in peers}
            overdue = {peer for peer, known in self._known.items() if known.is_overdue(is_crowded=len(peers) >= CROWD)}
        if overdue:
            for peer, connection in _open():
                if peer in overdue:
                    _shut(connection)

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


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


connections = Connections()
