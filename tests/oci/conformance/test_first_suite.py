"""The requests of the v1.1.1 suite that its successor lacks, with a new token for each as there."""

import pytest

from tests.oci.conformance.conftest import NAMESPACE
from tests.oci.conformance.content import Bundle
from tests.oci.conformance.registry import Registry, TokenDance, digest_of, location

pytestmark = pytest.mark.live

GROUP = "suite of v1.1.1"


@pytest.fixture
def first(http, secret):
    return Registry(http, f"{NAMESPACE}/vpc/m1", TokenDance(http, secret, keeps=False))


@pytest.fixture
def second(http, secret):
    return Registry(http, f"{NAMESPACE}/other/m2", TokenDance(http, secret, keeps=False))


@pytest.mark.smoke
def test_a_pull_finds_what_there_is_and_names_what_there_is_not(first, checks_of):
    checks, bundle = checks_of(GROUP), Bundle("pull")
    image = bundle.image("pull", "first")
    for data in bundle.blobs.values():
        checks.equal(first.push_blob(data).status_code, 201, "a blob")
    for tag in ("first", "second", "third", "fourth"):
        checks.equal(first.push(image, tag).status_code, 201, f"the tag {tag}")

    for kind in ("manifests", "blobs"):
        for method in ("HEAD", "GET"):
            checks.equal(first.ask(method, f"{kind}/{digest_of(b'nothing')}").status_code, 404, f"{method} {kind}")
    wrong = first.ask("GET", "manifests/sha256:totallywrong")
    checks.among(wrong.status_code, (400, 404), "a digest that is none")
    checks.equal(set(wrong.json()["errors"][0]) <= {"code", "message", "detail"}, True, "the shape of errors")
    checks.equal(first.ask("GET", "manifests/.INVALID_MANIFEST_NAME").status_code, 404, "a tag that is none")
    checks.equal(first.ask("HEAD", "manifests/.INVALID_MANIFEST_NAME").status_code, 404, "HEAD of such a tag")
    for tag in ("first", "second", "third", "fourth"):
        checks.equal(first.ask("GET", f"manifests/{tag}").content, image.raw, f"the tag {tag}")
    checks.equal(first.ask("DELETE", f"manifests/{image.digest}").status_code, 202, "deleting the manifest")


def test_chunks_that_are_out_of_order_are_416(first, checks_of):
    checks, data = checks_of(GROUP), b"three and five"
    session = first.session()

    checks.equal(first.patch(session, data[5:], 5).status_code, 416, "the second chunk first")
    answer = first.patch(session, data[:5], 0)
    checks.equal((answer.status_code, answer.headers["Range"]), (202, "0-4"), "the first chunk")
    checks.equal(first.patch(session, data[:5], 0).status_code, 416, "the first chunk again")
    told = first.ask("GET", session)
    checks.equal((told.status_code, told.headers["Range"]), (204, "0-4"), "the session")
    answer = first.patch(location(told), data[5:], 5)
    checks.equal((answer.status_code, answer.headers["Range"]), (202, f"0-{len(data) - 1}"), "the second chunk")
    checks.equal(first.put(location(answer), digest_of(data)).status_code, 201, "the end")


def test_a_mount_says_exactly_where_the_blob_is(first, second, checks_of):
    checks, data = checks_of(GROUP), b"a blob to mount"
    digest = digest_of(data)
    checks.equal(first.push_blob(data).status_code, 201, "the blob")

    for source in ({"from": first.name, "origin": "registry.example.org"}, {"from": first.name}, {}):
        answer = second.begin(mount=digest, **source)
        checks.equal(answer.status_code, 201, f"the mount with {source}")
        checks.equal(answer.headers["Location"], f"/v2/{second.name}/blobs/{digest}", "where it is")
        checks.equal(second.ask("GET", f"blobs/{digest}").content, data, "its bytes")
    checks.equal(second.ask("DELETE", f"blobs/{digest}").status_code, 202, "deleting it")
    checks.equal(first.ask("HEAD", f"blobs/{digest}").status_code, 200, "the blob that was mounted")


def test_what_is_deleted_is_gone(second, checks_of):
    checks, bundle = checks_of(GROUP), Bundle("management")
    image = bundle.image("management", layers=[])
    for data in bundle.blobs.values():
        checks.equal(second.push_blob(data).status_code, 201, "a blob")
    checks.equal(second.push(image, "managed").status_code, 201, "the manifest")

    for path in ("manifests/managed", f"manifests/{image.digest}", *(f"blobs/{digest}" for digest in bundle.blobs)):
        checks.equal(second.ask("DELETE", path).status_code, 202, f"deleting {path}")
        checks.equal(second.ask("GET", path).status_code, 404, f"{path} afterwards")
    tags = second.ask("GET", "tags/list")
    checks.equal((tags.status_code, "managed" in tags.json()["tags"]), (200, False), "the list of tags")


def test_a_token_for_every_request_is_honest_use(first, checks_of):
    checks = checks_of(GROUP)
    for number in range(130):
        answer = first.ask("HEAD", f"blobs/{digest_of(str(number).encode())}")
        checks.equal(answer.status_code, 404, f"request {number}")
    assert first.auth.fetched == 130
