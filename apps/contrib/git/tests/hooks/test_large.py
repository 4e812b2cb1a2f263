"""POST /api/v1/git-hooks/<id>: a body of 50 MB is refused, and is not read into memory."""

import socket
import ssl
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from apps.contrib.git import hooks
from apps.contrib.git.tests.hooks.sending import Hook, connected, send
from tests.live import Live
from tests.rows import for_each_row

SIZE = 50 * 1024 * 1024
PIECE = b"x" * 65536


@for_each_row("extra", [1, 1024 * 1024])
def test_a_body_over_the_limit_is_refused_before_its_signature_counts(acme, listened, settings, extra):
    settings.JSON_MAX_BYTES = SIZE  # of all other calls
    hook = Hook("https://git.acme.example/vpc", "git", {}, b"x" * (hooks.MAX_BODY_BYTES + extra)).signed()

    answer = send(connected(acme, hook), hook)

    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"
    assert listened == []


def test_a_body_of_the_limit_is_taken(acme, listened):
    hook = Hook("https://git.acme.example/vpc", "git", {}, b"x" * hooks.MAX_BODY_BYTES).signed()

    assert send(connected(acme, hook), hook).status_code == 200


def sent_in_part(larder: Live, head: str, *, is_chunked: bool) -> tuple[int, bytes]:
    """Send 50 MB until the server answers or breaks off; return how many bytes it took, and its answer."""
    parts = urlsplit(larder.url)
    sock: socket.socket = socket.create_connection((parts.hostname, parts.port), timeout=30)
    if parts.scheme == "https":
        sock = larder.tls.wrap_socket(sock, server_hostname=parts.hostname)
    taken, answer = 0, b""
    with sock:
        sock.sendall(f"POST {hooks.PATH}{'x' * 43} HTTP/1.1\r\nHost: {parts.netloc}\r\n{head}\r\n".encode())
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            while taken < SIZE:
                sock.sendall(b"%x\r\n%s\r\n" % (len(PIECE), PIECE) if is_chunked else PIECE)
                taken += len(PIECE)
            if is_chunked:
                sock.sendall(b"0\r\n\r\n")
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            answer = sock.recv(65536)
    return taken, answer


@pytest.mark.live
@pytest.mark.parametrize("is_chunked", [False, True])
def test_fifty_megabytes_are_refused_by_the_server_and_not_read(live: Live, is_chunked: bool) -> None:
    head = "Transfer-Encoding: chunked\r\n" if is_chunked else f"Content-Length: {SIZE}\r\n"

    taken, answer = sent_in_part(live, head, is_chunked=is_chunked)

    assert answer.startswith(b"HTTP/1.1 413 "), answer
    assert taken < SIZE // 2  # what a refused sender may send on is dropped, and then the connection
    with live.client() as client:
        assert client.get("/healthz").status_code == 200
