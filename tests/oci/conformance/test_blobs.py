"""Blobs of both algorithms: every way in, ranges, mounts, and the five ways to lie about a digest."""

import pytest

from tests.oci.conformance.registry import digest_of, location

pytestmark = pytest.mark.live

ALGORITHMS = ("sha256", "sha512")


def data_of(way: str, algorithm: str, size: int = 3000) -> bytes:
    head = f"{way} {algorithm} ".encode()
    return (head + b"0123456789" * (size // 10))[:size]


def post_only(registry, data, digest, checks):
    return registry.ask("POST", "blobs/uploads/", params={"digest": digest}, content=data)


def post_and_put(registry, data, digest, checks):
    return registry.put(registry.session(), digest, data)


def post_with_hint(registry, data, digest, checks):
    return registry.put(registry.session(**{"digest-algorithm": digest.partition(":")[0]}), digest, data)


def one_chunk(registry, data, digest, checks):
    answer = registry.patch(registry.session(), data, 0)
    checks.equal(answer.status_code, 202, "one chunk")
    checks.equal(answer.headers["Range"], f"0-{len(data) - 1}", "what has come")
    return registry.put(location(answer), digest)


def stream(registry, data, digest, checks):
    answer = registry.patch(registry.session(), iter([data[:1000], data[1000:]]))
    checks.equal(answer.status_code, 202, "a stream without length and range")
    return registry.put(location(answer), digest)


def three_chunks(registry, data, digest, checks):
    session = registry.session()
    for start in range(0, len(data), 1000):
        answer = registry.patch(session, data[start : start + 1000], start)
        checks.equal(answer.status_code, 202, f"the chunk at {start}")
        checks.equal(answer.headers["Range"], f"0-{min(start + 1000, len(data)) - 1}", "what has come")
        session = location(answer)
        told = registry.ask("GET", session)
        checks.equal(told.status_code, 204, "the session")
        checks.equal(told.headers["Range"], answer.headers["Range"], "what the session says has come")
    return registry.put(session, digest)


def last_chunk_in_put(registry, data, digest, checks):
    answer = registry.patch(registry.session(), data[:2000], 0)
    checks.equal(answer.status_code, 202, "the first chunk")
    return registry.put(location(answer), digest, data[2000:], 2000)


def out_of_order_by_patch(registry, data, digest, checks):
    session = registry.session()
    checks.equal(registry.patch(session, data[1000:2000], 1000).status_code, 416, "a second chunk first")
    session = location(registry.patch(session, data[:1000], 0))
    for start in (0, 2000, 500):
        checks.equal(registry.patch(session, data[start : start + 1000], start).status_code, 416, f"one at {start}")
    return _carry_on(registry, session, data, digest, checks)


def out_of_order_by_put(registry, data, digest, checks):
    session = location(registry.patch(registry.session(), data[:1000], 0))
    checks.equal(registry.put(session, digest, data[2000:], 2000).status_code, 416, "a closing chunk that is too far")
    return _carry_on(registry, session, data, digest, checks)


def _carry_on(registry, session, data, digest, checks):
    for url in (session, session.copy_merge_params({"digest": digest})):
        told = registry.ask("GET", url)
        checks.equal(told.status_code, 204, "the session after a refusal")
        checks.equal(told.headers["Range"], "0-999", "what had come before it")
        session = location(told)
    answer = registry.patch(session, data[1000:], 1000)
    checks.equal(answer.status_code, 202, "the right chunk after it")
    return registry.put(location(answer), digest)


WAYS = {
    way.__name__.replace("_", "-"): way
    for way in (
        post_only, post_and_put, post_with_hint, one_chunk, stream, three_chunks, last_chunk_in_put,
        out_of_order_by_patch, out_of_order_by_put,
    )
}  # fmt: skip


def check_there(registry, data, digest, checks):
    for method, body in (("HEAD", b""), ("GET", data)):
        answer = registry.ask(method, f"blobs/{digest}")
        checks.equal(answer.status_code, 200, f"{method} of the blob")
        checks.equal(answer.headers["Content-Length"], str(len(data)), "its length")
        checks.equal(answer.headers["Docker-Content-Digest"], digest, "its digest")
        checks.equal(answer.content, body, "its bytes")


def check_deleted(registry, digest, checks):
    checks.equal(registry.ask("DELETE", f"blobs/{digest}").status_code, 202, "deleting the blob")
    check_missing(registry, digest, checks)


def check_missing(registry, digest, checks):
    for method in ("HEAD", "GET"):
        checks.equal(registry.ask(method, f"blobs/{digest}").status_code, 404, f"{method} of a missing blob")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("way", WAYS)
def test_a_blob_comes_in_and_out_and_goes(registry, checks_of, way, algorithm):
    come_and_go(registry, checks_of(f"{algorithm} blobs"), way, data_of(way, algorithm), algorithm)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("way", ["post-only", "post-and-put", "post-with-hint", "stream"])
@pytest.mark.parametrize("data", [b"", b"{}"], ids=["no bytes", "empty JSON"])
def test_a_tiny_blob_does_so_too(registry, checks_of, way, data, algorithm):
    come_and_go(registry, checks_of(f"{algorithm} blobs"), way, data, algorithm)


def come_and_go(registry, checks, way, data, algorithm):
    digest = digest_of(data, algorithm)

    answer = WAYS[way](registry, data, digest, checks)

    checks.equal(answer.status_code, 201, way)
    checks.equal(location(answer).path, f"/v2/{registry.name}/blobs/{digest}", "where it is")
    checks.equal(answer.headers["Docker-Content-Digest"], digest, "the digest that the push is told")
    check_there(registry, data, digest, checks)
    check_deleted(registry, digest, checks)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_blob_is_mounted_from_the_other_repository(registry, other, checks_of, algorithm):
    checks, data = checks_of(f"{algorithm} blobs"), data_of("mount", algorithm)
    digest = digest_of(data, algorithm)
    checks.equal(other.push_blob(data, algorithm).status_code, 201, "the blob in the other repository")

    for source in ({"from": other.name}, {}):
        answer = registry.begin(mount=digest, **source)
        checks.equal(answer.status_code, 201, f"a mount with {source}")
        checks.equal(location(answer).path, f"/v2/{registry.name}/blobs/{digest}", "where it is")
        check_there(registry, data, digest, checks)
        check_deleted(registry, digest, checks)
    check_there(other, data, digest, checks)
    check_deleted(other, digest, checks)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_cannot_be_mounted_begins_an_upload(registry, other, checks_of, algorithm):
    checks, data = checks_of(f"{algorithm} blobs"), data_of("missing mount", algorithm)
    digest = digest_of(data, algorithm)

    for source in ({"from": other.name}, {}, {"from": "nowhere/vpc/aws"}):
        answer = registry.begin(mount=digest, **source)
        checks.equal(answer.status_code, 202, f"a mount of nothing with {source}")
        checks.equal(registry.put(location(answer), digest, data).status_code, 201, "the upload that it began")
        check_deleted(registry, digest, checks)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_range_is_the_part_that_was_asked_for(registry, checks_of, algorithm):
    checks, data = checks_of(f"{algorithm} blobs"), data_of("ranges", algorithm)
    digest = digest_of(data, algorithm)
    checks.equal(registry.push_blob(data, algorithm).status_code, 201, "the blob")
    size = len(data)
    parts = {
        "bytes=0-0": (0, 0),
        "bytes=10-99": (10, 99),
        "bytes=2000-": (2000, size - 1),
        "bytes=-100": (size - 100, size - 1),
        f"bytes=100-{size * 2}": (100, size - 1),
    }

    for asked, (first, last) in parts.items():
        answer = registry.ask("GET", f"blobs/{digest}", headers={"Range": asked})
        checks.equal(answer.status_code, 206, asked)
        checks.equal(answer.headers["Content-Range"], f"bytes {first}-{last}/{size}", asked)
        checks.equal(answer.content, data[first : last + 1], asked)
    for asked in (f"bytes={size + 10}-", f"bytes={size}-{size * 2}", "bytes=500-0"):
        answer = registry.ask("GET", f"blobs/{digest}", headers={"Range": asked})
        checks.equal((answer.status_code, answer.headers["Content-Range"]), (416, f"bytes */{size}"), asked)
    check_deleted(registry, digest, checks)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_wrong_digest_is_refused_and_leaves_nothing(registry, checks_of, algorithm):
    checks, data = checks_of(f"{algorithm} blobs"), data_of("wrong digest", algorithm)
    wrong, right = digest_of(data + b"!", algorithm), digest_of(data, algorithm)
    lies = {
        "POST alone": lambda: post_only(registry, data, wrong, checks),
        "POST and PUT": lambda: post_and_put(registry, data, wrong, checks),
        "one chunk": lambda: one_chunk(registry, data, wrong, checks),
        "stream": lambda: stream(registry, data, wrong, checks),
        "last chunk in PUT": lambda: last_chunk_in_put(registry, data, wrong, checks),
        "three chunks": lambda: three_chunks(registry, data, wrong, checks),
    }

    for way, lie in lies.items():
        answer = lie()
        checks.equal(answer.status_code, 400, way)
        checks.equal(answer.json()["errors"][0]["code"], "DIGEST_INVALID", way)
    check_missing(registry, wrong, checks)
    check_missing(registry, right, checks)


def test_a_cancelled_upload_is_gone(registry, checks_of):
    checks = checks_of("cancelled uploads")
    answer = registry.patch(registry.session(), b"half of it", 0)

    session = location(answer)
    checks.equal(registry.ask("DELETE", session).status_code, 204, "the cancelling")

    checks.equal(registry.ask("GET", session).status_code, 404, "the session afterwards")
    checks.equal(registry.patch(session, b"more", 10).status_code, 404, "a chunk afterwards")
    checks.equal(registry.put(session, digest_of(b"half of it")).status_code, 404, "the end afterwards")
    checks.equal(registry.ask("DELETE", session).status_code, 404, "cancelling again")
