"""The database is stopped in the middle of a push, and starts again: no answer lies, and every push can be finished.

Over OCI, and of what is published by API.
"""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import pytest

from tests import dumps, postgres
from tests.builders.archives import MODULE, module_zip
from tests.live import Live, start_live
from tests.needs import needs
from tests.oci.manifests.documents import IMAGE, digest_of, image
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.embedded("sees how far a staged body has come")]

REPOSITORY = "/v2/spare/raw/local"
STEP = 256 * 1024
FIRST, SECOND = os.urandom(8 * 1024 * 1024), os.urandom(24 * 1024 * 1024)


@dataclass
class Push:
    """A client of one repository, and the database that may leave it."""

    larder: Live
    database: postgres.Server
    client: httpx.Client

    def begin(self) -> str:
        answer = self.client.post(f"{REPOSITORY}/blobs/uploads/")
        assert answer.status_code == 202, answer.text
        return str(answer.headers["Location"])

    def broken(self, data: bytes, *, returns: bool = False) -> Iterator[bytes]:
        """The database goes when half of it has come in (`returns`: and comes again before the rest is sent)."""
        there = self.larder.staged()  # at once: the request's own file may be there before its first byte

        def sent() -> Iterator[bytes]:
            half = len(data) // 2
            yield from steps(data[:half])
            eventually(lambda: self.larder.staged() - there, what="the first half of the body")
            self.database.stop_at_once()
            yield from steps(data[half:-STEP])
            if returns:
                self.return_database()
            yield data[-STEP:]

        return sent()

    def answer_of(self, method: str, url: str, data: bytes, seconds: float) -> httpx.Response:
        """The database goes so long after the last byte was sent, and is there again with the answer."""
        stopping = threading.Timer(seconds, self.database.stop_at_once)

        def sent() -> Iterator[bytes]:
            yield from steps(data)
            stopping.start()

        answer = self.client.request(method, url, content=sent(), headers={"Content-Length": str(len(data))})
        stopping.join()
        self.return_database()
        return answer

    def return_database(self) -> None:
        """Wait with nobody's session: what a test asks next may still meet a connection that is broken."""
        self.database.start_again()
        eventually(lambda: self.client.get("/readyz").json()["parts"]["database"] == "ok", what="the return of Larder")

    def size_of(self, url: str) -> int:
        """The upload's own status. Nothing and one byte look alike."""
        answer = self.client.get(url)
        assert answer.status_code == 204, answer.text
        return int(answer.headers["Range"].removeprefix("0-")) + 1

    def send(self, url: str, data: bytes, start: int) -> None:
        """A chunk, again and again while the request that met the outage still seems to be coming in."""
        span = {"Content-Range": f"{start}-{start + len(data) - 1}"}
        eventually(lambda: self._sent(url, data, span), what="the rest of the upload")

    def _sent(self, url: str, data: bytes, span: dict[str, str]) -> bool:
        answer = self.client.patch(url, content=data, headers=span)
        assert answer.status_code in (202, 416, 503), answer.text
        return answer.status_code == 202

    def finish(self, url: str, data: bytes, body: bytes = b"") -> None:
        answer = self.client.put(url, params={"digest": digest_of(data)}, content=body)
        assert answer.status_code == 201, answer.text
        self.check(data)

    def check(self, data: bytes) -> None:
        url = f"{REPOSITORY}/blobs/{digest_of(data)}"
        head = self.client.head(url)
        assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(data)))
        assert self.client.get(url, follow_redirects=True).content == data


def steps(data: bytes) -> Iterator[bytes]:
    return (data[at : at + STEP] for at in range(0, len(data), STEP))


def is_away(answer: httpx.Response) -> None:
    """A client of this protocol understands it, and tries again."""
    assert answer.status_code == 503, answer.text
    assert answer.headers["Content-Type"] == "application/json"
    assert [error["code"] for error in answer.json()["errors"]] == ["UNAVAILABLE"]
    assert answer.headers["Retry-After"]


@pytest.fixture(scope="module")
@needs("postgres")
def push(tmp_path_factory) -> Iterator[Push]:
    database = postgres.Server(keeps_commits=True)
    folder = tmp_path_factory.mktemp("failover")
    with (
        start_live(folder, why="its database goes away", LARDER_DATABASE_URL=dumps.fill(database.url)) as larder,
        larder.client(larder.token()) as client,
    ):
        client.put("/api/v1/namespaces/spare", json={"visibility": "private"}).raise_for_status()
        yield Push(larder, database, client)


@pytest.fixture
def nothing_is_left(push) -> Iterator[None]:
    there = push.larder.staged()
    yield
    eventually(lambda: push.larder.staged() <= there)


@pytest.mark.usefixtures("nothing_is_left")
def test_a_chunk_that_meets_it_is_lost_and_the_upload_goes_on(push):
    url = push.begin()
    push.send(url, FIRST, 0)

    span = {"Content-Range": f"{len(FIRST)}-{len(FIRST) + len(SECOND) - 1}", "Content-Length": str(len(SECOND))}
    is_away(push.client.patch(url, content=push.broken(SECOND), headers=span))

    digest = digest_of(FIRST)
    for method, asked, body in (
        ("GET", url, b""),
        ("PATCH", url, SECOND),
        ("PUT", f"{url}?digest={digest}", b""),
        ("POST", f"{REPOSITORY}/blobs/uploads/", b""),
        ("POST", f"{REPOSITORY}/blobs/uploads/?digest={digest}", FIRST),
        ("GET", f"{REPOSITORY}/blobs/{digest}", b""),
        ("GET", f"{REPOSITORY}/manifests/latest", b""),
        ("GET", f"{REPOSITORY}/tags/list", b""),
        ("GET", f"/v2/token?scope=repository:{REPOSITORY.removeprefix('/v2/')}:pull", b""),
        ("DELETE", url, b""),
    ):
        is_away(push.client.request(method, asked, content=body))

    push.return_database()
    assert push.size_of(url) == len(FIRST)
    push.send(url, SECOND, len(FIRST))
    assert push.size_of(url) == len(FIRST + SECOND)
    push.finish(url, FIRST + SECOND)


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize("method", ["PATCH", "PUT", "POST"])
def test_one_that_is_over_before_the_last_byte_is_not_noticed(push, method):
    data = method.encode() + SECOND
    url = f"{REPOSITORY}/blobs/uploads/" if method == "POST" else push.begin()
    params = {} if method == "PATCH" else {"digest": digest_of(data)}
    answer = push.client.request(method, url, params=params, content=push.broken(data, returns=True))

    assert answer.status_code == (202 if method == "PATCH" else 201), answer.text
    if method == "PATCH":
        assert push.size_of(url) == len(data)
        push.finish(url, data)
    push.check(data)


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_blob_in_one_request_is_sent_again(push, method):
    data = b"again" + method.encode() + SECOND
    url = f"{REPOSITORY}/blobs/uploads/" if method == "POST" else push.begin()
    digest = digest_of(data)
    is_away(push.client.request(method, url, params={"digest": digest}, content=push.broken(data)))

    push.return_database()
    assert push.client.head(f"{REPOSITORY}/blobs/{digest}").status_code == 404
    if method == "PUT":
        assert push.size_of(url) == 1
    answer = push.client.request(method, url, params={"digest": digest}, content=data)
    assert answer.status_code == 201, answer.text
    push.check(data)


@pytest.mark.usefixtures("nothing_is_left")
def test_a_manifest_that_meets_it_is_not_there_and_can_be_pushed_again(push):
    for blob in (b"{}", FIRST):
        push.finish(push.begin(), blob, blob)
    raw = image(FIRST, annotations={"padding": "p" * 3_000_000})
    url = f"{REPOSITORY}/manifests/one"

    def broken() -> Iterator[bytes]:
        yield raw[:STEP]
        push.database.stop_at_once()
        yield from steps(raw[STEP:])

    is_away(push.client.put(url, content=broken(), headers={"Content-Type": IMAGE}))

    push.return_database()
    assert push.client.get(url).status_code == 404
    answer = push.client.put(url, content=raw, headers={"Content-Type": IMAGE})
    assert (answer.status_code, answer.headers["Docker-Content-Digest"]) == (201, digest_of(raw))
    assert push.client.get(url).content == raw


@pytest.mark.parametrize("milliseconds", [0, 2, 4, 8, 16])
def test_whatever_moment_it_meets_the_answer_and_the_upload_tell_the_truth(push, milliseconds):
    """Just after the last byte: what was sent may have been committed, and nobody could say so.

    Where nobody knows, what is staged stays until it is swept.
    """
    data = bytes([milliseconds]) + FIRST
    url = push.begin()

    answer = push.answer_of("PATCH", url, data, milliseconds / 1000)
    taken = push.size_of(url)
    if answer.status_code == 202:
        assert taken == len(data)
    else:
        is_away(answer)
    if taken < len(data):
        assert taken == 1  # which is how nothing is written, too
        push.send(url, data, 0)

    answer = push.answer_of("PUT", f"{url}?digest={digest_of(data)}", b"", milliseconds / 1000)
    if answer.status_code != 201:
        is_away(answer)
        if push.client.get(url).status_code == 204:
            push.finish(url, data)
    push.check(data)


def test_ready_answers_end_with_the_lease_and_archives_go_on(push):
    module = "/v1/modules/demo/hello/local"
    with push.larder.client() as nobody:
        archive = nobody.get(f"{module}/1.0.0/download").headers["X-Terraform-Get"].partition("?")[0]
        whole = nobody.get(archive).raise_for_status().content
        assert [nobody.get(f"{module}/versions").status_code for _ in range(3)] == [200] * 3

        push.database.stop_at_once()
        eventually(lambda: nobody.get(f"{module}/versions").status_code == 503, what="the end of ready answers")
        for url in (f"{module}/versions", f"{module}/1.0.0/download", f"{module}/versions"):
            answer = nobody.get(url)
            assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
            assert nobody.get(archive).content == whole

        push.return_database()
        eventually(lambda: nobody.get(f"{module}/versions").status_code == 200, what="answers as before")


@pytest.mark.usefixtures("nothing_is_left")
def test_a_module_outlives_it_or_is_sent_again_at_once(push):
    data = module_zip({**MODULE, "padding.bin": SECOND})
    url = "/api/v1/modules/spare/outlived/local"
    answer = push.client.put(f"{url}/1.0.0", content=push.broken(data, returns=True))
    assert answer.status_code == 202, answer.text
    assert push.larder.wait_for(push.client, f"{url}/1.0.0")["state"] == "published"

    answer = push.client.put(f"{url}/2.0.0", content=push.broken(data))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    page = push.client.get("/modules")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "2")
    push.return_database()

    def is_taken() -> bool:
        answer = push.client.put(f"{url}/2.0.0", content=data)
        assert answer.status_code in (202, 409), answer.text
        return answer.status_code == 202

    eventually(is_taken, what="a free number")
    assert push.larder.wait_for(push.client, f"{url}/2.0.0")["state"] == "published"


@pytest.mark.usefixtures("nothing_is_left")
def test_a_file_of_a_draft_outlives_it_or_is_sent_again(push):
    url = "/api/v1/providers/spare/outlived/1.0.0"
    push.client.post(url, json={"protocols": ["5.0"]}).raise_for_status()
    file = f"{url}/files/terraform-provider-outlived_1.0.0_linux_amd64.zip"

    answer = push.client.put(file, content=push.broken(SECOND))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    push.return_database()
    assert push.client.get(url).json()["files"] == []

    answer = push.client.put(file, content=push.broken(SECOND, returns=True))
    assert answer.status_code == 201, answer.text
    assert [one["digest"] for one in push.client.get(url).json()["files"]] == [digest_of(SECOND)]
    push.client.delete(file).raise_for_status()
