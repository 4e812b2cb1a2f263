"""Clients that come back resume their TLS session, which saves the server a signature and both a round trip."""

import socket
import ssl
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.live

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_that_comes_back_resumes_its_session(live, version):
    tls = ssl.create_default_context(cafile=live.ca_bundle)
    tls.minimum_version = tls.maximum_version = version
    server = urlsplit(live.url)

    def ask(session: ssl.SSLSession | None) -> tuple[bool, ssl.SSLSession | None]:
        with (
            socket.create_connection((server.hostname, server.port)) as connection,
            tls.wrap_socket(connection, server_hostname=server.hostname, session=session) as secured,
        ):
            secured.sendall(REQUEST)
            assert secured.recv(4096).startswith(b"HTTP/1.1 200")
            return bool(secured.session_reused), secured.session

    first, session = ask(None)
    assert not first
    assert session is not None
    assert ask(session)[0]
