"""Connect to an address that a user chose (SSRF): the name is resolved once, all its addresses are checked, and the
connection goes to one of those. `addresses.py` says which are allowed, `fetching.py` makes the exchanges.
"""

import base64
import http.client
import socket
import ssl
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from apps.lib.net.addresses import HTTPS_PORT, Networks, may_connect, port_of, way_of

PRIVATE_ADDRESS, NOT_TRUSTED, TOO_SLOW = "private_address", "not_trusted", "too_slow"

Addresses = list[tuple[socket.AddressFamily, Any]]


class NotAnswered(Exception):
    """No answer came. The text is for the owner of the URL, and names no address of the network.

    `code` is stable. `rule`: which limit or rule of Larder ended it; empty if the server or the network did. `tls`: why
    TLS failed or the certificate is refused, in the words of OpenSSL.
    """

    def __init__(self, message: str, *, code: str = "unreachable", rule: str = "", tls: str = "") -> None:
        super().__init__(f"{message}: {tls}" if tls else message)
        self.code, self.rule, self.tls = code, rule, tls
        self.url = ""  # of the hop, where there are several


def resolved(parts: SplitResult, allowed: Networks, *, is_proxy: bool = False) -> Addresses:
    """Return the addresses of the host. One that is not allowed refuses them all: a name must not choose."""
    try:
        found = socket.getaddrinfo(parts.hostname, port_of(parts), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        what, code = ("the proxy", "proxy_failed") if is_proxy else ("the host", "unresolved")
        raise NotAnswered(f"the name of {what} cannot be resolved", code=code) from None
    for _, _, _, _, where in found:
        if not may_connect(ip_address(str(where[0])), parts, allowed):
            found_private = f"the host has an address that Larder may not call with {way_of(parts)}"
            raise NotAnswered(found_private, code=PRIVATE_ADDRESS, rule=PRIVATE_ADDRESS)
    return [(family, where) for family, _, _, _, where in found]


def connected(
    parts: SplitResult, addresses: Addresses, trusted: ssl.SSLContext, *, seconds: float, ends: float, is_proxy: bool
) -> http.client.HTTPConnection:
    """Connect to the first address that answers: one that hangs leaves time for the next. No handshake of TLS yet."""
    host = parts.hostname or ""
    until = min(time.monotonic() + seconds, ends)
    for family, where in addresses:
        left = until - time.monotonic()
        if left <= 0:
            break
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(min(seconds / len(addresses), left))
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
    what, code = ("the proxy", "proxy_failed") if is_proxy else ("the host", "unreachable")
    rule = "connect_seconds" if time.monotonic() >= until else ""
    within = f" within {seconds:g} s" if rule else ""
    raise NotAnswered(f"no connection to {what}{within}", code=code, rule=rule)


def tunnelled(
    connection: http.client.HTTPConnection, parts: SplitResult, proxy: str, trusted: ssl.SSLContext
) -> http.client.HTTPConnection:
    """Have the proxy connect to the host, and speak TLS with that."""
    host, port = parts.hostname or "", port_of(parts)
    there = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {there} HTTP/1.1", f"Host: {there}"]
    lines += [f"{name}: {value}" for name, value in proxy_authorization(proxy).items()]
    sock = connection.sock
    sock.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
    with http.client.HTTPResponse(sock, method="CONNECT") as answer:
        answer.begin()
        if answer.status // 100 != 2:  # noqa: PLR2004
            text = f"the proxy answered {answer.status} to CONNECT {there}"
            raise NotAnswered(text, code="proxy_failed", rule="proxy")
    inner = http.client.HTTPConnection(host, port)
    inner.default_port = HTTPS_PORT  # else Host names the port
    inner.sock = trusted.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    return inner


def proxy_authorization(proxy: str) -> dict[str, str]:
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def cut_off(sock: socket.socket) -> None:
    """End reads of another thread. The connection is no use here: http.client lets go of its socket before the answer
    is read.
    """
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of SSLSocket, which another thread reads
