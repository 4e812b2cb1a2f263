import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_network

import pytest

from apps.lib.net import fetching
from tests.builders import misbehaving
from tests.builders.misbehaving import Registry
from tests.builders.proxying import Proxy, proxying

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
LIMITS = fetching.Limits(
    connect_seconds=1, first_byte_seconds=0.4, total_seconds=5, min_bytes_per_second=2000, window_seconds=0.4
)


@pytest.fixture
def registry() -> Iterator[Registry]:
    """A registry over plain http, without providers: see misbehaving.py."""
    with misbehaving.running() as started:
        yield started


@pytest.fixture
def tls_registry(tmp_path) -> Iterator[Registry]:
    """The same over https, with a certificate of a private authority."""
    with misbehaving.running(tls=tmp_path) as started:
        yield started


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with proxying() as started:
        yield started


@pytest.fixture
def get():
    """`get(url)` returns status, body and final URL; `more` are fields of the route, or arguments of `opened`."""

    def fetch(url, *, limits=LIMITS, max_bytes=10_000_000, method="GET", authorization="", ca="", **route):
        chosen = replace(fetching.Route(fetching.trusting("", 0, ca), LOOPBACK), **route)
        with fetching.opened(method, url, headers={}, route=chosen, limits=limits, authorization=authorization) as said:
            return said.status, b"".join(said.chunks(max_bytes)), said.url

    return fetch


@pytest.fixture
def names(monkeypatch):
    """`names(**{"registry.acme.example": "127.0.0.1"})`: what resolves to what. Addresses resolve to themselves."""

    def to(**known):
        def getaddrinfo(host, port, *_, **__):
            found = known.get(host, host)
            if not found[0].isdigit():
                raise socket.gaierror(socket.EAI_NONAME, "unknown")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, port))]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    return to


@pytest.fixture
def trusted() -> ssl.SSLContext:
    return fetching.trusting("", 0, "")
