"""Slow and silent clients take nobody's answer away, and are cut off (A34)."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.builders.archives import MODULE, module_zip
from tests.e2e.server import slow_clients
from tests.e2e.server.slow_clients import Client, hang
from tests.live import Live, start_live
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.nightly]

THREADS = 4
SLOW = 10  # of each kind, and there are several at once
TIMEOUT = 3
NOTICE = 4
READS = ("/healthz", "/readyz", "/v1/modules/demo/hello/local/versions")


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Patient for three seconds, with fewer threads than there are slow clients."""
    variables = {
        "LARDER_WEB_THREADS": str(THREADS),
        "LARDER_UPLOAD_THREADS": str(THREADS),
        "LARDER_CLIENT_TIMEOUT_SECONDS": str(TIMEOUT),
        "LARDER_STOP_NOTICE_SECONDS": str(NOTICE),
    }
    with start_live(
        tmp_path_factory.mktemp("slow"), why="it is impatient, and slow clients take its threads", **variables
    ) as larder:
        yield larder


@pytest.fixture(scope="module")
def token(larder: Live) -> str:
    return larder.token()


def kinds(larder: Live, token: str) -> dict[str, tuple[Client, int]]:
    return slow_clients.kinds(larder.url, token, SLOW)


TOGETHER = {
    "heads": ["no TLS", "silence", "silence over HTTP/2", "head", "head over HTTP/2"],
    "forms": ["form", "form over HTTP/2", "form with a length over HTTP/2"],
    "refused bodies": [
        "refused",
        "refused over HTTP/2",
        "refused with a length over HTTP/2",
        "refused, one connection",
    ],
    "uploads": ["upload", "upload over HTTP/2", "upload, one connection"],
}


def is_answered(larder: Live, path: str) -> bool:
    """Over a new connection, like a new client. On a busy machine it may itself be too slow."""
    try:
        with larder.client() as client:
            return client.get(path).status_code == 200
    except httpx.TransportError:
        return False


def assert_others_are_answered(larder: Live) -> None:
    for path in READS * 3:
        eventually(lambda path=path: is_answered(larder, path), what=path)  # type: ignore[misc]


@pytest.mark.parametrize("group", TOGETHER)
def test_slow_clients_take_nobodys_answer_and_are_cut(larder: Live, token: str, group: str) -> None:
    clients = kinds(larder, token)
    with contextlib.ExitStack() as stack:
        slow = {kind: stack.enter_context(hang(larder.url, *clients[kind])) for kind in TOGETHER[group]}
        eventually(lambda: all(seen.connected >= clients[kind][1] for kind, seen in slow.items()), seconds=90)
        assert_others_are_answered(larder)
        for kind, seen in slow.items():
            eventually(lambda seen=seen: seen.cut >= SLOW, seconds=90, what=f"cut: {kind}")  # type: ignore[misc]


@pytest.fixture(scope="module")
def large(larder: Live, token: str) -> list[str]:
    """Two archives that no buffer holds: a thread sends the first, the server by itself the second, already hashed."""
    paths = []
    for name in ("first", "second"):
        data = module_zip(MODULE | {"large.bin": os.urandom(8_000_000)})
        assert larder.publish(f"demo/{name}/local", "1.0.0", data, token)["state"] == "published"
        with larder.client() as client:
            found = client.get(f"/v1/modules/demo/{name}/local/1.0.0/download").json()["location"]
        paths.append(found.partition("?")[0])
    with larder.client() as client:
        assert client.get(paths[1]).status_code == 200
    return paths


def test_downloads_that_nobody_reads_are_cut_and_take_neither_answers_nor_memory(
    larder: Live, large: list[str]
) -> None:
    before = larder.output.read_text().count("client_stalled")

    with contextlib.ExitStack() as stack:
        unread = [slow_clients.unread(path, larder.host) for path in large]
        slow = [stack.enter_context(hang(larder.url, client, count=45)) for client in unread]
        eventually(lambda: [one.connected for one in slow] == [45, 45], seconds=60)
        assert_others_are_answered(larder)
        eventually(lambda: larder.output.read_text().count("client_stalled") - before == 90, seconds=60)


@pytest.mark.embedded("cuts a file of the storage folder")
def test_a_file_that_is_cut_short_while_it_is_sent_ends_before_its_length(larder: Live, large: list[str]) -> None:
    digest = large[1].split("/")[-2]
    file = larder.data_dir / "blobs" / "sha256" / digest[:2] / digest
    small = httpx.HTTPTransport(verify=larder.tls, socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)])
    with larder.client(transport=small) as client:
        with client.stream("GET", large[1]) as answer:
            parts = answer.iter_raw()
            next(parts)
            file.chmod(0o600)
            os.truncate(file, 100_000)
            with pytest.raises(httpx.RemoteProtocolError):
                list(parts)
        assert client.get(large[1]).status_code == 503, "it is hashed again"


SAID: dict[str, Callable[[httpx.Response], object]] = {
    "/account/login/": lambda answer: "<html" in answer.text and "too slowly" in answer.text,
    "/api/v1/namespaces/demo": lambda answer: answer.json()["error"]["code"] == "too_slow",
    "/v2/demo/hello/local/manifests/9.9.9": lambda answer: answer.json()["errors"][0]["code"] == "BLOB_UPLOAD_INVALID",
}


def test_who_falls_silent_is_told_so_in_the_dialect_and_who_is_slow_but_goes_on_is_not_cut(
    larder: Live, token: str
) -> None:
    """All at once: each takes longer than the time-out."""

    def silent() -> Iterator[bytes]:
        yield b"{"
        time.sleep(2 * TIMEOUT)
        yield b" " * 999

    def fall_silent(path: str) -> httpx.Response:
        method = "POST" if path.startswith("/account") else "PUT"
        with larder.client(token) as client:
            return client.request(method, path, content=silent(), headers={"Content-Length": "1000"})

    def go_on(is_http2: bool) -> tuple[httpx.Response, float]:
        data = module_zip(MODULE | {"large.bin": os.urandom(100_000)}, comment=str(is_http2).encode())

        def slowly() -> Iterator[bytes]:
            for start in range(0, len(data), 10_000):
                yield data[start : start + 10_000]
                time.sleep(0.15 * TIMEOUT)

        started = time.monotonic()
        with larder.client(token, http2=is_http2) as client:
            answer = client.put(f"/api/v1/modules/demo/patient/local/1.{int(is_http2)}.0", content=slowly())
        return answer, time.monotonic() - started

    with ThreadPoolExecutor() as at_once:
        patient = [at_once.submit(go_on, is_http2) for is_http2 in (False, True)]
        answers = dict(zip(SAID, at_once.map(fall_silent, SAID), strict=True))
        for path, answer in answers.items():
            assert answer.status_code == 408, path
            assert SAID[path](answer), answer.text
        for upload in patient:
            answer, seconds = upload.result()
            assert answer.status_code == 202, answer.text
            assert seconds > TIMEOUT


def test_a_stop_is_said_by_readyz_first_while_requests_go_on(larder: Live) -> None:
    """The last of this file: it ends the Larder."""

    def seen() -> tuple[int, str, int]:
        with larder.client() as client:
            ready = client.get("/readyz")
            return ready.status_code, ready.json()["status"], client.get(READS[2]).status_code

    assert seen() == (200, "ok", 200)
    larder.process.send_signal(signal.SIGTERM)
    eventually(lambda: seen() == (503, "stopping", 200), seconds=NOTICE)
    assert larder.process.wait(30) == 0
