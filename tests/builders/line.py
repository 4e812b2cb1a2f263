"""A line that breaks: a proxy that cuts its tunnels after so many bytes, and refuses others until it is mended.

Or one that leads elsewhere: with `to`, tunnels to these hosts end at a port of this machine, and no others open.
"""

import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

STEP = 64 * 1024


class Line:
    """`url` is for a client's proxy settings. Only bytes towards the server count."""

    def __init__(self, to: Mapping[str, int] | None = None) -> None:
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._left: int | None = None
        self._then: Callable[[], object] = self._cut
        self._is_cut = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, size: int, then: Callable[[], object] | None = None) -> None:
        """`then` happens instead of the cut."""
        self._then, self._left = then or self._cut, size

    def mend(self) -> None:
        self._left, self._is_cut = None, False

    def close(self) -> None:
        self._cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(STEP) or b"\r\n\r\n"
            if self._is_cut or not head.startswith(b"CONNECT "):
                return
            host, _, port = head.split()[1].decode().rpartition(":")
            if self._to is not None:
                if host not in self._to:
                    return
                host, port = "127.0.0.1", str(self._to[host])
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                with self._lock:
                    self._open |= {client, server}
                try:
                    self._relay(client, server)
                finally:
                    with self._lock:
                        self._open -= {client, server}

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        selector = selectors.DefaultSelector()
        for one in (client, server):
            selector.register(one, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                data = key.fileobj.recv(STEP)  # type: ignore[union-attr]  # a socket
                if not data:
                    return
                if key.fileobj is server:
                    client.sendall(data)
                    continue
                server.sendall(data)
                if self._left is not None:
                    self._left -= len(data)
                    if self._left <= 0:
                        self._left = None
                        self._then()

    def _cut(self) -> None:
        self._is_cut = True
        self.drop()

    def drop(self) -> None:
        """End what is open; others may follow."""
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


@contextmanager
def a_line(to: Mapping[str, int] | None = None) -> Iterator[Line]:
    line = Line(to)
    try:
        yield line
    finally:
        line.close()
