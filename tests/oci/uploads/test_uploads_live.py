"""Uploads that Django's client cannot send: of unknown length, broken off, or two at the same time."""

import hashlib
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

pytestmark = pytest.mark.live

REPOSITORY = "/v2/layers/raw/local/blobs"
DATA = os.urandom(8 * 1024 * 1024)
DIGEST = f"sha256:{hashlib.sha256(DATA).hexdigest()}"
each_version = pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])


class BrokenOff(Exception):
    pass


def steps(data: bytes = DATA) -> Iterator[bytes]:
    return (data[at : at + 65536] for at in range(0, len(data), 65536))


def breaking_off() -> Iterator[bytes]:
    yield from steps(DATA[: len(DATA) // 2])
    raise BrokenOff


@pytest.fixture(scope="module")
def token(live):
    found = live.token()
    with live.client(found) as client:
        assert client.put("/api/v1/namespaces/layers", json={"visibility": "private"}).status_code == 201
    return found


@pytest.fixture
def client(live, token, http2) -> Iterator[httpx.Client]:
    with live.client(token, http2=http2) as found:
        yield found


def begin(client: httpx.Client) -> str:
    answer = client.post(f"{REPOSITORY}/uploads/")
    assert answer.status_code == 202, answer.text
    return str(answer.headers["Location"])


def wait_until_free(client: httpx.Client, url: str) -> None:
    """The server sees that a sender left a little after it left."""
    deadline = time.monotonic() + 20
    while (answer := client.patch(url, content=b"", headers={"Content-Range": "0-0"})).status_code != 202:
        assert answer.status_code == 503, answer.text
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.1)


@each_version
def test_a_stream_of_unknown_length_arrives_whole(client):
    """Case 1: 8 MiB without a Content-Length."""
    url = begin(client)
    answer = client.patch(url, content=steps())

    assert (answer.status_code, answer.headers["Range"]) == (202, f"0-{len(DATA) - 1}")
    assert client.put(url, params={"digest": DIGEST}).status_code == 201
    assert client.get(f"{REPOSITORY}/{DIGEST}", headers={"Accept-Encoding": "gzip"}).content == DATA


@each_version
@pytest.mark.smoke
def test_a_blob_comes_in_one_request(client):
    for method, url in (("POST", f"{REPOSITORY}/uploads/"), ("PUT", begin(client))):
        answer = client.request(method, url, params={"digest": DIGEST}, content=DATA)
        assert (answer.status_code, answer.headers["Location"]) == (201, f"{REPOSITORY}/{DIGEST}")
    head = client.head(f"{REPOSITORY}/{DIGEST}")
    assert (head.status_code, head.headers["Content-Length"], head.content) == (200, str(len(DATA)), b"")


@pytest.mark.parametrize(
    ("http2", "method", "has_length"),  # each with each other once
    [(False, "PATCH", False), (False, "PUT", True), (True, "PATCH", True), (True, "PUT", False)],
)
def test_a_body_that_breaks_off_leaves_the_upload_as_it_was(live, token, client, http2, method, has_length):
    """Case 5: the client is gone in the middle, and tries again."""
    there, url = live.staged(), begin(client)
    headers = {"Content-Length": str(len(DATA))} if has_length else {}
    for _ in range(2):
        with pytest.raises(BrokenOff), live.client(token, http2=http2) as leaving:
            leaving.request(method, url, params={"digest": DIGEST}, content=breaking_off(), headers=headers)
    wait_until_free(client, url)

    status = client.get(url)
    assert (status.status_code, status.headers["Range"]) == (204, "0-0")
    deadline = time.monotonic() + 20
    while live.staged() - there:
        assert time.monotonic() < deadline, live.staged() - there
        time.sleep(0.1)
    assert client.put(url, params={"digest": DIGEST}, content=steps()).status_code == 201


@pytest.mark.embedded("waits for a file in the staging folder")
@each_version
def test_of_two_chunks_that_meet_one_comes_in(live, token, client, http2):
    """Case 6."""
    there, url = live.staged(), begin(client)
    has_begun, may_end = threading.Event(), threading.Event()
    answers: list[httpx.Response] = []

    def slow() -> Iterator[bytes]:
        yield DATA[:500_000]
        has_begun.set()
        assert may_end.wait(30)
        yield DATA[500_000:]

    def first() -> None:
        with live.client(token, http2=http2) as other:
            answers.append(other.patch(url, content=slow(), headers={"Content-Range": f"0-{len(DATA) - 1}"}))

    sender = threading.Thread(target=first)
    sender.start()
    assert has_begun.wait(30)
    deadline = time.monotonic() + 20
    while live.staged() <= there:  # it has the lease before it writes
        assert time.monotonic() < deadline, "the first chunk is not coming in"
        time.sleep(0.05)
    assert client.patch(url, content=DATA[:100], headers={"Content-Range": "0-99"}).status_code == 503
    may_end.set()
    sender.join(60)

    assert [answer.status_code for answer in answers] == [202]
    assert client.put(url, params={"digest": DIGEST}).status_code == 201


@each_version
def test_a_refusal_reaches_who_is_still_sending(live, http2):
    with live.client("", http2=http2) as nobody:
        answer = nobody.patch(f"{REPOSITORY}/uploads/anything", content=DATA)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("who", ["nobody", "reader"])
def test_who_asks_before_sending_is_refused_before_sending(live, token, who):
    """`Expect: 100-continue`: the answer is the refusal, and a gigabyte stays at home."""
    secret = live.token(scope="read") if who == "reader" else ""
    asked = [
        f"POST {REPOSITORY}/uploads/?digest={DIGEST} HTTP/1.1",
        f"Host: {live.host}",
        "Expect: 100-continue",
        f"Content-Length: {10**9}",
        *([f"Authorization: Bearer {secret}"] if secret else []),
    ]
    host, _, port = live.host.partition(":")
    tls = ssl.create_default_context(cafile=live.ca_bundle)
    with socket.create_connection((host, int(port)), 30) as plain, tls.wrap_socket(plain, server_hostname=host) as sent:
        sent.sendall("\r\n".join([*asked, "", ""]).encode())
        assert sent.recv(1000).split()[1] == (b"403" if secret else b"401")
