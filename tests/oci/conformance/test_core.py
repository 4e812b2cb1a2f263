"""The core of the distribution specification as its official suites ask for it, for runs that have no such suite."""

import pytest

from tests.oci.conformance.content import BUNDLES, Bundle
from tests.oci.conformance.registry import digest_of, location

pytestmark = pytest.mark.live

DATA = b"0123456789" * 300
each_algorithm = pytest.mark.parametrize("algorithm", ["sha256", "sha512"])


def read(registry, path, digest, body):
    for method, expected in (("HEAD", b""), ("GET", body)):
        answer = registry.ask(method, path)
        assert (answer.status_code, answer.content) == (200, expected), path
        assert answer.headers["Content-Length"] == str(len(body)), path
        assert answer.headers["Docker-Content-Digest"] == digest, path


def delete(registry, path):
    assert registry.ask("DELETE", path).status_code == 202, path
    assert [registry.ask(method, path).status_code for method in ("HEAD", "GET")] == [404, 404], path


def referrers(registry, subject, **parameters):
    answer = registry.referrers(subject, **parameters)
    assert answer.status_code == 200
    return sorted(answer.json()["manifests"], key=lambda row: row["digest"])


@pytest.mark.parametrize("group", BUNDLES)
def test_content_comes_in_and_out_and_goes(registry, group):
    bundle = BUNDLES[group]()
    for data in bundle.blobs.values():
        assert registry.push_blob(data, bundle.algorithm).status_code == 201
    tag_of = {document.digest: {"tag": tag} for tag, document in bundle.tags.items()}
    for document in bundle.documents:
        answer = registry.push(document, document.digest, params=tag_of.get(document.digest, {}))
        assert (answer.status_code, answer.headers["Docker-Content-Digest"]) == (201, document.digest)
        assert answer.headers.get("OCI-Subject", "") == document.subject

    for digest, data in bundle.blobs.items():
        read(registry, f"blobs/{digest}", digest, data)
    for reference, document in [*bundle.tags.items(), *((one.digest, one) for one in bundle.documents)]:
        read(registry, f"manifests/{reference}", document.digest, document.raw)
    assert set(bundle.tags) <= set(registry.ask("GET", "tags/list").json()["tags"])
    for subject in {document.subject for document in bundle.documents} - {""}:
        attached = [document for document in bundle.documents if document.subject == subject]
        rows = sorted((document.as_referrer() for document in attached), key=lambda row: row["digest"])
        assert referrers(registry, subject) == rows
        kind = attached[0].artifact_type
        assert referrers(registry, subject, artifactType=kind) == [
            row for row in rows if row.get("artifactType") == kind
        ]

    for path in [f"manifests/{tag}" for tag in bundle.tags] + [
        f"manifests/{one.digest}" for one in bundle.documents[::-1]
    ]:
        delete(registry, path)
    for digest in bundle.blobs:
        delete(registry, f"blobs/{digest}")


def in_one(registry, digest):
    return registry.ask("POST", "blobs/uploads/", params={"digest": digest}, content=DATA)


def streamed(registry, digest):
    return registry.put(location(registry.patch(registry.session(), iter([DATA[:1000], DATA[1000:]]))), digest)


def chunked(registry, digest):
    """A chunk that comes too early or again is 416, and the upload goes on where it was."""
    session = registry.session()
    assert registry.patch(session, DATA[1000:2000], 1000).status_code == 416
    for start in (0, 1000):
        answer = registry.patch(session, DATA[start : start + 1000], start)
        assert (answer.status_code, answer.headers["Range"]) == (202, f"0-{start + 999}")
        assert registry.patch(location(answer), DATA[start : start + 1000], start).status_code == 416
        told = registry.ask("GET", location(answer))
        assert (told.status_code, told.headers["Range"]) == (204, f"0-{start + 999}")
        session = location(told)
    return registry.put(session, digest, DATA[2000:], 2000)


@each_algorithm
@pytest.mark.parametrize("way", [in_one, streamed, chunked])
def test_a_blob_comes_in_by_its_digest_alone(registry, way, algorithm):
    right, wrong = digest_of(DATA, algorithm), digest_of(b"!", algorithm)

    refused = way(registry, wrong)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (400, "DIGEST_INVALID")
    assert registry.ask("HEAD", f"blobs/{wrong}").status_code == 404

    answer = way(registry, right)
    assert (answer.status_code, location(answer).path) == (201, f"/v2/{registry.name}/blobs/{right}")
    read(registry, f"blobs/{right}", right, DATA)
    part = registry.ask("GET", f"blobs/{right}", headers={"Range": "bytes=10-99"})
    assert (part.status_code, part.headers["Content-Range"], part.content) == (206, "bytes 10-99/3000", DATA[10:100])
    assert registry.ask("GET", f"blobs/{right}", headers={"Range": "bytes=4000-"}).status_code == 416
    delete(registry, f"blobs/{right}")


@each_algorithm
def test_a_blob_is_mounted_or_its_upload_begins(registry, other, algorithm):
    digest = digest_of(DATA, algorithm)
    began = registry.begin(mount=digest, **{"from": other.name})
    assert began.status_code == 202
    assert registry.ask("DELETE", location(began)).status_code == 204
    assert registry.ask("GET", location(began)).status_code == 404

    assert other.push_blob(DATA, algorithm).status_code == 201
    for source in ({"from": other.name, "origin": "registry.example.org"}, {}):
        answer = registry.begin(mount=digest, **source)
        assert (answer.status_code, location(answer).path) == (201, f"/v2/{registry.name}/blobs/{digest}")
        delete(registry, f"blobs/{digest}")
    read(other, f"blobs/{digest}", digest, DATA)
    delete(other, f"blobs/{digest}")


@each_algorithm
def test_what_does_not_fit_together_is_refused_and_what_is_missing_is_not_found(registry, algorithm):
    document = Bundle("refused", algorithm).index([])
    wrong = registry.push(document, digest_of(b"!", algorithm))
    assert (wrong.status_code, wrong.json()["errors"][0]["code"]) == (400, "DIGEST_INVALID")
    for bad in ("sha256:baddigeststring", "sha256:" + "A" * 64, "md5:" + "0" * 32):
        assert registry.push(document, bad).status_code == registry.referrers(bad).status_code == 400
        assert registry.put(registry.session(), bad, DATA).status_code == 400
    for reference in ("never-pushed", document.digest):
        assert {registry.ask(way, f"manifests/{reference}").status_code for way in ("HEAD", "GET", "DELETE")} == {404}
    assert registry.referrers(document.digest).json()["manifests"] == []


def test_a_token_for_every_request_is_honest_use(other):
    for number in range(130):
        assert other.ask("HEAD", f"blobs/{digest_of(str(number).encode())}").status_code == 404
    assert other.auth.fetched == 130
