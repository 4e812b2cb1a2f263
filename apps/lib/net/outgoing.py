"""One bounded HTTP exchange with an address that somebody else chose (SSRF): the name is resolved once, all its
addresses are checked, and the connection goes to one of those.

No redirects, no proxy, no `.netrc`, no decompression; one deadline for everything after the name is resolved. `post` is
for webhooks; identity providers (accounts/identity/sign_on/fetching.py) have limits and addresses of their own.

Which addresses are public is decided by the tables below, not by `is_global`, whose answers differ between Python 3.11
and 3.14. Sources: IANA's special-purpose address registries for IPv4
(https://www.iana.org/assignments/iana-ipv4-special-registry) and IPv6
(https://www.iana.org/assignments/iana-ipv6-special-registry), as of RFC 9780; multicast by RFC 5771 and RFC 4291.
"""

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from threading import Event, Timer
from typing import Any
from urllib.parse import SplitResult, urlsplit

from apps.lib.errors import Invalid

CONNECT_SECONDS = 5.0
MAX_SECONDS = 10.0
MAX_ANSWER_BYTES = 4096
MAX_URL_CHARACTERS = 500
HTTPS_PORT = 443

Address = IPv4Address | IPv6Address
Networks = tuple[IPv4Network | IPv6Network, ...]

# The whole registry, including what it calls globally reachable (192.0.0.9, 192.0.0.10, AS112, AMT): these anycast
# addresses lead to the nearest relay or sink, which is often in our own network and never a receiver.
_SPECIAL_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, and the metadata services of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments: 192.0.0.8 (dummy), 192.0.0.170 (NAT64 discovery) and others
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# IANA assigns global unicast addresses from 2000::/3 alone. Outside are among others ::/96 (IPv4-compatible),
# ::ffff:0:0:0/96 (SIIT), 64:ff9b:1::/48 (local translation), 100::/64 (discard), 5f00::/16 (segment routing), fc00::/7
# (unique local), fe80::/10 (link-local), fec0::/10 (site-local) and ff00::/8 (multicast).
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_SPECIAL_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, AMT, AS112, ORCHID, DRIP
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
# IPv6 addresses that stand for an IPv4 address: mapped, and translated by a gateway (with DNS64 all of IPv4).
_FOR_IPV4 = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
# For addresses that an operator chose.
ANYWHERE: Networks = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))


class NotAnswered(Exception):
    """No answer came. The text is for the owner of the URL, and names no address of the network."""


class NotTrusted(NotAnswered):
    pass


class TooSlow(NotAnswered):
    pass


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


def check_url(url: str, allowed: Networks = ()) -> str:
    """Return the URL. Raises Invalid for what `post` would never call.

    Names are resolved by `post` alone, because they may change. So with `allowed` networks any name may have an address
    there; without them it must be a full name, with https on port 443.
    """
    parts = _parts(url)
    host = parts.hostname or ""
    hint = "Use https on port 443 of a public address, or ask an operator for LARDER_WEBHOOK_ALLOW."
    # What `getaddrinfo` reads in a host without asking anyone: 2130706433, 0x7f.1 and 0177.0.0.1 are 127.0.0.1.
    address: Address | None = None
    with suppress(ValueError):
        address = ip_address(host)
    if address is None:
        with suppress(OSError):
            address = IPv4Address(socket.inet_aton(host))
    if address is not None:
        if not _may_connect(address, parts, allowed):
            raise Invalid(f"{host} with {_way(parts)} is not allowed.", hint=hint)
    elif not allowed:
        if not _is_https(parts):
            raise Invalid(f"The URL uses {_way(parts)}, expected https on port {HTTPS_PORT}.", hint=hint)
        if "." not in host or host.endswith("."):
            raise Invalid(f"The host is {host!r}, expected a full name such as hooks.acme.example.", hint=hint)
    return url


def post(url: str, *, body: bytes, headers: Mapping[str, str], allowed: Networks = ()) -> Answer:
    """Send it once, and return the status and the beginning of the answer. Raises NotAnswered.

    Once the status has come, it decides. What follows is for the log, as far as it comes in time.
    """
    try:
        parts = _parts(url)
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
    addresses = _resolved(parts, allowed)
    deadline = time.monotonic() + seconds
    connection = _connected(parts, addresses, deadline, trusted or _context())
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
        raise NotTrusted(f"its certificate is not trusted: {error.verify_message}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if cut.is_set() or isinstance(error, TimeoutError):
            raise TooSlow(f"no answer within {seconds:.0f} s") from None
        raise NotAnswered(f"the connection failed: {type(error).__name__}") from None
    finally:
        timer.cancel()
        connection.close()


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


def _parts(url: str) -> SplitResult:
    hint = "Use a URL such as https://hooks.acme.example/larder."
    if len(url) > MAX_URL_CHARACTERS or not url.isascii() or not url.isprintable() or " " in url:
        raise Invalid(f"The URL has more than {MAX_URL_CHARACTERS} characters, or others than plain ASCII.", hint=hint)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise Invalid("The host or port of the URL cannot be read.", hint=hint) from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise Invalid(f"The URL begins with {url[:20]!r}, expected https:// and a host.", hint=hint)
    if parts.username is not None or parts.password is not None:
        raise Invalid("The URL has a user name or password in it.", hint="Check the signature instead.")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port if parts.port is not None else HTTPS_PORT if parts.scheme == "https" else 80


def _way(parts: SplitResult) -> str:
    return f"{parts.scheme} on port {_port(parts)}"


def _is_https(parts: SplitResult) -> bool:
    return parts.scheme == "https" and _port(parts) == HTTPS_PORT


def _may_connect(address: Address, parts: SplitResult, allowed: Networks) -> bool:
    """Public addresses by https on its port; everything else only in a network that an operator allowed."""
    if any(address in network for network in _FOR_IPV4):
        address = IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address):
        is_public = address in _GLOBAL_IPV6 and not any(address in network for network in _SPECIAL_IPV6)
    else:
        is_public = not any(address in network for network in _SPECIAL_IPV4)
    return is_public and _is_https(parts)


def _resolved(parts: SplitResult, allowed: Networks) -> list[tuple[socket.AddressFamily, Any]]:
    """Return the addresses of the host. One that is not allowed refuses them all: a name must not choose."""
    try:
        found = socket.getaddrinfo(parts.hostname, _port(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotAnswered("the name of the host cannot be resolved") from None
    for _, _, _, _, where in found:
        if not _may_connect(ip_address(str(where[0])), parts, allowed):
            raise NotAnswered(f"the host has an address that Larder may not call with {_way(parts)}")
    return [(family, where) for family, _, _, _, where in found]


def _connected(
    parts: SplitResult,
    addresses: list[tuple[socket.AddressFamily, Any]],
    deadline: float,
    trusted: ssl.SSLContext,
) -> http.client.HTTPConnection:
    """Connect to the first address that answers. TLS still waits for its handshake."""
    host = parts.hostname or ""
    for family, where in addresses:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(min(CONNECT_SECONDS, left))
            sock.connect(where)
            sock.settimeout(left)
            connection = http.client.HTTPConnection(host, _port(parts))
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
    """End the exchange. The time-outs of a socket begin again with every byte.

    The connection is no use here: http.client lets go of its socket before the answer is read.
    """
    cut.set()
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of SSLSocket, which another thread reads
