"""Clients that hang: each opens a connection, says as little as it can, and comes again when it is cut off."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

PAUSE = 0.7
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


@dataclass
class Hanging:
    """The combined observations of a block's clients."""

    connected: int = 0
    cut: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)


Client = Callable[[socket.socket, Hanging], None]


@contextlib.contextmanager
def hang(url: str, client: Client, count: int) -> Iterator[Hanging]:
    parts = urlsplit(url)
    seen = Hanging()

    def come_again() -> None:
        while not seen.is_over.is_set():
            with contextlib.suppress(OSError), socket.create_connection((parts.hostname, parts.port), 10) as plain:
                client(plain, seen)
            seen.is_over.wait(0.3)

    threads = [threading.Thread(target=come_again, name="slow-client") for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        seen.is_over.set()
        for thread in threads:
            thread.join()


@cache
def _context(protocol: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context


def _secured(plain: socket.socket, protocol: str) -> socket.socket:
    return _context(protocol).wrap_socket(plain)


def raw(opening: bytes, drip: bytes = b"", *, protocol: str = "http/1.1") -> Client:
    """Sends the opening, then the drip again and again, until the server closes the connection."""

    def run(plain: socket.socket, seen: Hanging) -> None:
        with _secured(plain, protocol) as connection:
            connection.sendall(opening)
            seen.connected += 1
            connection.settimeout(PAUSE)
            while not seen.is_over.is_set():
                try:
                    if not connection.recv(65536):
                        seen.cut += 1
                        return
                except TimeoutError:
                    pass
                except OSError:
                    seen.cut += 1
                    raise
                with contextlib.suppress(ssl.SSLError):
                    connection.sendall(drip)

    return run


def no_tls(plain: socket.socket, seen: Hanging) -> None:
    """Connects and does not even begin with TLS."""
    seen.connected += 1
    plain.settimeout(PAUSE)
    while not seen.is_over.is_set():
        with contextlib.suppress(TimeoutError):
            plain.recv(100)
            seen.cut += 1
            return


def unread(path: str, host: str) -> Client:
    """Asks for a download and reads nothing of it."""

    def run(plain: socket.socket, seen: Hanging) -> None:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with _secured(plain, "http/1.1") as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            seen.connected += 1
            seen.is_over.wait()

    return run


def streams(count: int, headers: dict[str, str], *, drip: bytes, host: str) -> Client:
    """Requests over one HTTP/2 connection, whose bodies come by and by; it counts each stream that is ended."""

    def run(plain: socket.socket, seen: Hanging) -> None:
        with _secured(plain, "h2") as connection:
            state = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
            state.initiate_connection()
            fields = [(":scheme", "https"), (":authority", host), *headers.items()]
            fields.sort(key=lambda one: not one[0].startswith(":"))
            open_streams = set()
            for _ in range(count):
                stream = state.get_next_available_stream_id()
                state.send_headers(stream, fields)
                open_streams.add(stream)
            connection.sendall(state.data_to_send())
            seen.connected += 1
            connection.settimeout(PAUSE)
            while open_streams and not seen.is_over.is_set():
                for event in _events(connection, state):
                    if isinstance(event, ConnectionTerminated):
                        return
                    if isinstance(event, StreamEnded | StreamReset) and event.stream_id in open_streams:
                        open_streams.discard(event.stream_id)
                        seen.cut += 1
                for stream in open_streams:
                    with contextlib.suppress(ProtocolError):
                        state.send_data(stream, drip)
                connection.sendall(state.data_to_send())

    return run


def _events(connection: socket.socket, state: H2Connection) -> list[object]:
    try:
        data = connection.recv(65536)
    except TimeoutError:
        return []
    if not data:
        raise ConnectionResetError
    return list(state.receive_data(data))


# --- The kinds --------------------------------------------------------------------------------------------------------

CSRF = "a" * 32
FORM = ("Content-Type: application/x-www-form-urlencoded", f"Cookie: __Host-larder-csrf={CSRF}")
UPLOAD = "/api/v1/modules/demo/slow/local/1.0.0"


def kinds(url: str, token: str, slow: int) -> dict[str, tuple[Client, int]]:
    """Each kind's client, and how many of them are `slow` slow ones."""
    host = urlsplit(url).netloc

    def http1(line: str, *fields: str) -> bytes:
        return "\r\n".join([f"{line} HTTP/1.1", f"Host: {host}", *fields, "Content-Length: 100000", "", ""]).encode()

    def http2(method: str, path: str, more: dict[str, str], count: int = 1) -> Client:
        return streams(count, {":method": method, ":path": path, **more}, drip=b"a", host=host)

    form = {
        "content-type": "application/x-www-form-urlencoded",
        "cookie": f"__Host-larder-csrf={CSRF}",
        "origin": url,
    }
    length = {"content-length": "100000"}
    bearer = {"authorization": f"Bearer {token}"}
    # One frame of a head that never ends: the method and a field, and more to come.
    endless = PREFACE + b"\0\0\1\1\0\0\0\0\1\x82"
    return {
        "no TLS": (no_tls, slow),
        "silence": (raw(b""), slow),
        "silence over HTTP/2": (raw(b"PRI * HTT", protocol="h2"), slow),
        "head": (raw(b"GET / HTTP/1.1\r\n", b"X-A: b\r\n"), slow),
        "head over HTTP/2": (raw(endless, protocol="h2"), slow),
        "form": (raw(http1("POST /account/login/", *FORM, f"Origin: {url}"), b"a"), slow),
        "form over HTTP/2": (http2("POST", "/account/login/", form), slow),
        "form with a length over HTTP/2": (http2("POST", "/account/login/", form | {"content-length": "1000"}), slow),
        "refused": (raw(http1(f"PUT {UPLOAD}"), b"a"), slow),
        "refused over HTTP/2": (http2("PUT", UPLOAD, {}), slow),
        "refused with a length over HTTP/2": (http2("PUT", UPLOAD, length), slow),
        "refused, one connection": (http2("PUT", UPLOAD, length, slow), 1),
        "upload": (raw(http1(f"PUT {UPLOAD}", f"Authorization: Bearer {token}"), b"a"), slow),
        "upload over HTTP/2": (http2("PUT", UPLOAD, bearer), slow),
        "upload, one connection": (http2("PUT", UPLOAD, bearer, slow), 1),
    }
