"""Every 400 carries nosniff, whoever writes it: asked by raw sockets, since clients do not send such requests.

What granian cannot read it answers itself, before our code runs, with an empty body: there is nothing to sniff.
"""

import socket
import ssl
from collections.abc import Callable
from contextlib import closing, suppress

import h2.connection
import h2.events
import pytest

from registry_site.monitoring import page
from tests.live import Live
from tests.postgres import free_port

pytestmark = pytest.mark.live
Answer = tuple[int, dict[str, str], bytes]

GET = b"GET / HTTP/1.1\r\n"
HOST = b"Host: 127.0.0.1\r\n"
SIGN_IN = b"POST /account/login/ HTTP/1.1\r\n" + HOST
FORM = b"Content-Type: application/x-www-form-urlencoded"
EVIL = b"Host: evil.example\r\n\r\n"
OURS = {
    "a page under another host": GET + EVIL,
    "the API under another host": b"GET /api/v1/modules HTTP/1.1\r\n" + EVIL,
    "a protocol under another host": b"GET /v1/modules HTTP/1.1\r\n" + EVIL,
    "OCI under another host": b"GET /v2/ HTTP/1.1\r\n" + EVIL,
    "any resource of another host": b"OPTIONS * HTTP/1.1\r\n" + EVIL,
    "a tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\n" + EVIL,
    "a host with a blank": GET + b"Host: a b\r\n\r\n",
    "an empty host": GET + b"Host:\r\n\r\n",
    "no host": GET + b"\r\n",
    "two hosts": GET + HOST + EVIL,
    "a host that is not ASCII": GET + b"Host: caf\xe9.example\r\n\r\n",
    "HTTP/1.0 without a host": b"GET / HTTP/1.0\r\n\r\n",
    "a form in another charset": SIGN_IN + FORM + b"; charset=utf-7\r\nContent-Length: 3\r\n\r\na=b",
    "a broken chunk": b"PUT /api/v1/namespaces/acme HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
}
GRANIANS = {
    "rubbish": b"RUBBISH\r\n\r\n",
    "an unknown version": b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
    "a blank in the path": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "raw bytes in the path": b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "a header without a colon": GET + HOST + b"Rubbish\r\n\r\n",
    "a header with a blank before its colon": GET + HOST + b"A : b\r\n\r\n",
    "a length that is no number": SIGN_IN + b"Content-Length: a\r\n\r\n",
    "two lengths": SIGN_IN + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
}
TOO_LARGE = {
    "a header of 70 KB": GET + HOST + b"A: " + b"a" * 70_000 + b"\r\n\r\n",
    "two thousand headers": GET + HOST + b"".join(b"A%d: b\r\n" % number for number in range(2000)) + b"\r\n",
}


def received(client: socket.socket) -> Answer:
    """Read the head, and its body if it has a length."""
    got = b""
    client.settimeout(20)
    with suppress(OSError):
        while b"\r\n\r\n" not in got and (part := client.recv(65536)):
            got += part
        head, _, body = got.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        while len(body) < int(headers.get("content-length", 0)) and (part := client.recv(65536)):
            body += part
    return int(status.split()[1]), headers, body


@pytest.fixture
def ask(live: Live) -> Callable[[bytes], Answer]:
    host, _, port = live.host.partition(":")

    def send(request: bytes) -> Answer:
        with (
            socket.create_connection((host, int(port)), timeout=20) as raw,
            live.tls.wrap_socket(raw, server_hostname=host) as client,
        ):
            with suppress(OSError):  # it need not read all of it
                client.sendall(request)
            return received(client)

    return send


def test_a_400_of_ours_carries_nosniff(ask: Callable[[bytes], Answer]) -> None:
    for case, request in OURS.items():
        status, headers, _ = ask(request)
        assert (status, headers.get("x-content-type-options")) == (400, "nosniff"), case


def test_what_granian_answers_itself_has_no_body(ask: Callable[[bytes], Answer]) -> None:
    for case, request in (GRANIANS | TOO_LARGE).items():
        status, headers, body = ask(request)
        assert status == (431 if case in TOO_LARGE else 400), case
        assert headers.keys() <= {"content-length", "connection", "date"}, f"{case}: ours would say more"
        assert (headers["content-length"], body) == ("0", b""), case


def test_a_400_over_http2_carries_nosniff(live: Live) -> None:
    context = ssl.create_default_context(cafile=live.ca_bundle)
    context.set_alpn_protocols(["h2"])
    host, _, port = live.host.partition(":")
    connection, found = h2.connection.H2Connection(), dict[bytes, bytes]()
    with (
        socket.create_connection((host, int(port)), timeout=20) as raw,
        context.wrap_socket(raw, server_hostname=host) as client,
    ):
        connection.initiate_connection()
        fields = {":method": "GET", ":scheme": "https", ":authority": "evil.example", ":path": "/"}
        connection.send_headers(1, list(fields.items()), end_stream=True)
        while not found:
            client.sendall(connection.data_to_send())
            for event in connection.receive_data(client.recv(65536)):
                if isinstance(event, h2.events.ResponseReceived):
                    found = dict(event.headers or [])

    assert (found[b":status"], found[b"x-content-type-options"]) == (b"400", b"nosniff")


@pytest.fixture(scope="module")
def metrics_port() -> int:
    port = free_port()
    page.serve("127.0.0.1", port)
    return port


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [(b"RUBBISH RUBBISH RUBBISH", 400), (b"GET /x HTTP/9.9", 505), (b"GET /x HTTP/1.1", 404)],
)
def test_so_do_the_refusals_of_a_workers_metrics(metrics_port: int, request_line: bytes, expected: int) -> None:
    with closing(socket.create_connection(("127.0.0.1", metrics_port), timeout=20)) as client:
        client.sendall(request_line + b"\r\n\r\n")
        status, headers, _ = received(client)

    assert (status, headers.get("x-content-type-options")) == (expected, "nosniff")
