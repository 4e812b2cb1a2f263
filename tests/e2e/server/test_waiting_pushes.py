"""Pushes over OCI wait for a worker's decision, and hold no thread meanwhile."""

import hashlib
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.e2e.oci.clients import Pusher
from tests.live import Live, start_live
from tests.oci.manifests.documents import package
from tests.site.processes import children, eventually

pytestmark = pytest.mark.live

THREADS = 2
PUSHES = 3 * THREADS
IMAGE = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    variables = {
        "LARDER_WEB_THREADS": str(THREADS),
        "LARDER_UPLOAD_THREADS": str(THREADS),
        "LARDER_OCI_PUBLISH_SECONDS": "120",
    }
    with start_live(tmp_path_factory.mktemp("waiting"), why="its few threads are all taken", **variables) as larder:
        yield larder


def send_blob(client: httpx.Client, data: bytes) -> int:
    digest = hashlib.sha256(data).hexdigest()
    return client.post(f"/v2/demo/waits/local/blobs/uploads/?digest=sha256:{digest}", content=data).status_code


def test_more_pushes_wait_than_there_are_threads_and_others_are_answered(larder: Live) -> None:
    token = larder.token()
    archives = [module_zip(comment=str(number).encode()) for number in range(PUSHES)]
    workers = children(larder.process.pid, "worker")
    assert workers

    def push(number: int) -> tuple[int, str]:
        with larder.client(token) as client:
            client.timeout = httpx.Timeout(120)
            url = f"/v2/demo/waits/local/manifests/1.{number}.0"
            answer = client.put(url, content=package(archives[number]), headers={"Content-Type": IMAGE})
            return answer.status_code, answer.text

    with larder.client(token) as client, ThreadPoolExecutor(PUSHES) as pushers:
        assert {send_blob(client, data) for data in (b"{}", *archives)} == {201}
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        try:
            pushes = [pushers.submit(push, number) for number in range(PUSHES)]
            eventually(lambda: _count_received(client) == PUSHES, seconds=60, what="each push has its release")
            time.sleep(1)  # whoever holds a thread holds it by now
            assert not any(one.done() for one in pushes)
            assert send_blob(client, b"by a thread of uploads") == 201
            assert client.get("/v2/demo/waits/local/tags/list").status_code in (200, 404)
            assert client.get("/v1/modules/demo/hello/local/versions").status_code == 200
        finally:
            for worker in workers:
                os.kill(worker, signal.SIGCONT)
        assert [one.result() for one in pushes] == [(201, "")] * PUSHES
        assert len(client.get("/v2/demo/waits/local/tags/list").json()["tags"]) == PUSHES + 1
    requests = [
        line for line in larder.output.read_text().splitlines() if '"path": "/v2/demo/waits/local/manifests' in line
    ]
    assert len(requests) == PUSHES, "each push is one request in the log"


def test_pushes_beyond_the_slots_of_an_account_wait_while_pages_are_answered(live: Live) -> None:
    """Each is checked in its own time, by a child process; 429 would end a client that repeats no manifest."""
    token, pushes = live.token(), 24
    with live.client(token) as client:
        client.put("/api/v1/namespaces/crowd", json={"visibility": "public"}).raise_for_status()

    def push(number: int) -> tuple[int, str]:
        answer = Pusher(live, token).push(f"crowd/part{number}/local", "latest", module_zip(comment=b"%d" % number))
        return answer.status_code, answer.text

    pages = []
    with live.client() as reader, ThreadPoolExecutor(pushes) as pushers:
        pushing = [pushers.submit(push, number) for number in range(pushes)]
        while not all(one.done() for one in pushing):
            pages.append(reader.get("/modules").status_code)
    assert [one.result() for one in pushing] == [(201, "")] * pushes
    assert set(pages) == {200}


def _count_received(client: httpx.Client) -> int:
    found = [client.get(f"/api/v1/modules/demo/waits/local/1.{number}.0") for number in range(PUSHES)]
    return [one.json().get("state") for one in found].count("received")
