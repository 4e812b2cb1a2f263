"""One bounded HTTP exchange with an address that somebody else chose (SSRF): the name is resolved once, all its
addresses are checked, and the connection goes to one of those.

No redirects, no proxy, no `.netrc`, no decompression; one deadline for everything after the name is resolved. `post` is
for webhooks; identity providers (accounts/identity/sign_on/fetching.py) have limits and addresses of their own.

`fetching.py` is for what is larger, slower or elsewhere; `addresses.py` says which addresses are allowed.
"""

import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import cache
from ipaddress import ip_address
from threading import Event, Timer
from typing import Any
from urllib.parse import SplitResult

from apps.lib.errors import Invalid
from apps.lib.net.addresses import HTTPS_PORT, Networks, may_connect, parts_of, port_of, way_of
from apps.lib.process import outside

CONNECT_SECONDS = 5.0
MAX_SECONDS = 10.0
MAX_ANSWER_BYTES = 4096

PRIVATE_ADDRESS = "private_address"


class NotAnswered(Exception):
    """No answer came. The text is for the owner of the URL, and names no address of the network.

    `code` is stable. `rule`: which limit or rule of Larder ended it; empty if the server or the network did.
    """

    code = "unreachable"

    def __init__(self, message: str, *, code: str = "", rule: str = "") -> None:
        super().__init__(message)
        self.code, self.rule = code or self.code, rule
        self.url = ""  # of the hop, where there are several


class TlsFailed(NotAnswered):
    """It was not established, or broke. `words`: OpenSSL's."""

    def __init__(self, error: ssl.SSLError, *, code: str = "") -> None:
        self.words = (error.reason or "the connection ended").lower().replace("_", " ")
        super().__init__(f"TLS failed: {self.words}", code=code)


class NotTrusted(NotAnswered):
    """The certificate is refused. `words`: OpenSSL's, why."""

    code = "not_trusted"

    def __init__(self, error: ssl.SSLCertVerificationError, *, rule: str = "") -> None:
        self.words = error.verify_message
        super().__init__(f"its certificate is not trusted: {self.words}", rule=rule)


class TooSlow(NotAnswered):
    code = "too_slow"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Message
    body: bytes  # or its beginning, unless it is whole
    is_whole: bool

    @property
    def is_success(self) -> bool:
        return self.status // 100 == 2  # noqa: PLR2004

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace").replace("\0", "")


def post(url: str, *, body: bytes, headers: Mapping[str, str], allowed: Networks = ()) -> Answer:
    """Send it once, and return the status and the beginning of the answer. Raises NotAnswered.

    Once the status has come, it decides. What follows is for the log, as far as it comes in time.
    """
    try:
        parts = parts_of(url)
    except Invalid as error:
        raise NotAnswered(str(error)) from None
    return exchange(
        "POST", parts, body=body, headers=headers, allowed=allowed, seconds=MAX_SECONDS, max_bytes=MAX_ANSWER_BYTES
    )


def exchange(
    method: str,
    parts: SplitResult,
    *,
    body: bytes | None,
    headers: Mapping[str, str | bytes],
    allowed: Networks,
    seconds: float,
    max_bytes: int,
    trusted: ssl.SSLContext | None = None,
) -> Answer:
    """Send a request once, and return the answer with at most `max_bytes` of its body. Raises NotAnswered."""
    outside.give_back()
    addresses = resolved(parts, allowed)
    deadline = time.monotonic() + seconds
    connection = connected(parts, addresses, deadline, trusted or _context())
    cut = Event()
    timer = Timer(max(0.0, deadline - time.monotonic()), _cut, [connection.sock, cut])
    timer.daemon = True
    timer.start()
    try:
        if isinstance(connection.sock, ssl.SSLSocket):
            connection.sock.do_handshake()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body=body, headers={**headers, "Accept-Encoding": "identity"})
        with connection.getresponse() as answer:
            if cut.is_set():  # http.client takes the end of the connection for that of the headers
                raise TimeoutError
            return Answer(answer.status, answer.headers, *_body_of(answer, max_bytes, cut))
    except ssl.SSLCertVerificationError as error:
        raise NotTrusted(error) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if cut.is_set() or isinstance(error, TimeoutError):
            raise TooSlow(f"no answer within {seconds:.0f} s") from None
        if isinstance(error, ssl.SSLError):
            raise TlsFailed(error) from None
        raise NotAnswered(f"the connection failed: {type(error).__name__}") from None
    finally:
        timer.cancel()
        connection.close()


def circuit_to(
    kind: str,
    parts: SplitResult,
    refusal: Callable[[], Exception],
    *,
    allowed: Networks,
    trusted: ssl.SSLContext | None = None,
) -> outside.Circuit:
    """Return the circuit of a host. While it is away, the watch asks for its first page: any answer will do."""

    def probe() -> None:
        with circuit.exchange(NotAnswered):
            exchange(
                "GET",
                parts._replace(path="/", query="", fragment=""),
                body=None,
                headers={"User-Agent": "Larder"},
                allowed=allowed,
                seconds=outside.SILENCE_SECONDS,
                max_bytes=MAX_ANSWER_BYTES,
                trusted=trusted,
            )

    circuit = outside.circuit_of(kind, parts.netloc, refusal, probe)
    return circuit


def _body_of(answer: http.client.HTTPResponse, max_bytes: int, cut: Event) -> tuple[bytes, bool]:
    """Return as much of the body as comes in time, and whether that is all of it."""
    body, ended = bytearray(), False
    with suppress(OSError, http.client.HTTPException, ValueError):
        while len(body) <= max_bytes and not ended:
            piece = answer.read1(max_bytes + 1 - len(body))
            body += piece
            ended = not piece
    # A body of known length that breaks off ends like any other, and so does one of unknown length that was cut.
    return bytes(body[:max_bytes]), ended and not answer.length and not cut.is_set()


def resolved(parts: SplitResult, allowed: Networks) -> list[tuple[socket.AddressFamily, Any]]:
    """Return the addresses of the host. One that is not allowed refuses them all: a name must not choose."""
    try:
        found = socket.getaddrinfo(parts.hostname, port_of(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotAnswered("the name of the host cannot be resolved", code="unresolved") from None
    for _, _, _, _, where in found:
        if not may_connect(ip_address(str(where[0])), parts, allowed):
            found_private = f"the host has an address that Larder may not call with {way_of(parts)}"
            raise NotAnswered(found_private, code=PRIVATE_ADDRESS, rule=PRIVATE_ADDRESS)
    return [(family, where) for family, _, _, _, where in found]


def connected(
    parts: SplitResult,
    addresses: list[tuple[socket.AddressFamily, Any]],
    deadline: float,
    trusted: ssl.SSLContext,
    *,
    connect_seconds: float = CONNECT_SECONDS,
) -> http.client.HTTPConnection:
    """Connect to the first address that answers within `connect_seconds`. TLS still waits for its handshake."""
    host = parts.hostname or ""
    for family, where in addresses:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(min(connect_seconds, left))
            sock.connect(where)
            sock.settimeout(left)
            connection = http.client.HTTPConnection(host, port_of(parts))
            connection.sock = sock
            if parts.scheme == "https":
                connection.default_port = HTTPS_PORT  # else Host names the port
                connection.sock = trusted.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
        except OSError:
            sock.close()
        else:
            return connection
    raise NotAnswered("no connection to the host")


@cache
def _context() -> ssl.SSLContext:
    """Trusts what Python trusts: SSL_CERT_FILE and the system's authorities. Reading them takes 10 ms."""
    return ssl.create_default_context()


def _cut(sock: socket.socket, cut: Event) -> None:
    """End the exchange. The time-outs of a socket begin again with every byte."""
    cut.set()
    cut_off(sock)


def cut_off(sock: socket.socket) -> None:
    """End reads of another thread. The connection is no use here: http.client lets go of its socket before the answer
    is read.
    """
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of SSLSocket, which another thread reads
