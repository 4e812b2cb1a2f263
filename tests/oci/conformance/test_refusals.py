"""Refusals, missing objects, and empty repositories."""

import pytest

from tests.oci.conformance.conftest import NAMESPACE
from tests.oci.conformance.content import IMAGE, INDEX, Bundle, Document
from tests.oci.conformance.registry import Registry, digest_of

pytestmark = pytest.mark.live

BAD = "sha256:baddigeststring"


def test_a_repository_that_nobody_pushed_to_has_no_referrers_and_no_tags(http, dance, checks_of):
    checks, nothing = checks_of("empty repository"), Registry(http, f"{NAMESPACE}/untouched/aws", dance)

    answer = nothing.referrers(digest_of(b"nothing"))
    checks.equal(answer.status_code, 200, "referrers")
    checks.equal(answer.headers["Content-Type"], INDEX, "their type")
    checks.equal(answer.json()["manifests"], [], "their list")
    tags = nothing.ask("GET", "tags/list")
    checks.equal((tags.status_code, tags.json()["errors"][0]["code"]), (404, "NAME_UNKNOWN"), "tags")


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
def test_a_manifest_is_refused_under_another_digest(registry, checks_of, algorithm):
    checks, bundle = checks_of("bad digest image"), Bundle("bad digest image", algorithm)
    document = bundle.image("bad")
    for data in bundle.blobs.values():
        checks.equal(registry.push_blob(data, algorithm).status_code, 201, "a blob of it")
    wrong = digest_of(document.raw + b"\n", algorithm)

    for reference, raw in ((wrong, document.raw), (document.digest, document.raw + b"\n")):
        answer = registry.push(Document(raw, IMAGE), reference)
        checks.equal(answer.status_code, 400, "the push under another digest")
        checks.equal(answer.json()["errors"][0]["code"], "DIGEST_INVALID", "why")
        for method in ("HEAD", "GET"):
            checks.equal(registry.ask(method, f"manifests/{reference}").status_code, 404, f"{method} of it")
    for digest in bundle.blobs:
        checks.equal(registry.ask("DELETE", f"blobs/{digest}").status_code, 202, "deleting a blob of it")
        checks.equal(registry.ask("HEAD", f"blobs/{digest}").status_code, 404, "the blob afterwards")


NEVER = {"tag": "never-pushed", "sha256": digest_of(b"never"), "sha512": digest_of(b"never", "sha512")}


@pytest.mark.parametrize("reference", NEVER.values(), ids=NEVER)
def test_a_missing_manifest_is_not_found(registry, checks_of, reference):
    checks = checks_of("missing manifest")
    registry.push_blob(b"so that there is a repository")

    for method in ("HEAD", "GET", "DELETE"):
        answer = registry.ask(method, f"manifests/{reference}")
        checks.equal(answer.status_code, 404, f"{method} of {reference}")
        if answer.content:
            checks.equal(answer.json()["errors"][0]["code"], "MANIFEST_UNKNOWN", "why")


@pytest.mark.parametrize("bad", [BAD, "sha256:" + "A" * 64, "md5:" + "0" * 32, "sha512:" + "0" * 64])
def test_what_is_no_digest_is_refused(registry, checks_of, bad):
    checks, document = checks_of("invalid digest"), Bundle("invalid digest").index([])
    registry.push_blob(b"so that there is a repository")

    checks.equal(registry.push(document, bad).status_code, 400, "the push of a manifest")
    for kind in ("manifests", "blobs"):
        for method in ("HEAD", "GET", "DELETE"):
            checks.among(registry.ask(method, f"{kind}/{bad}").status_code, (400, 404), f"{method} of {kind}")
    checks.equal(registry.put(registry.session(), bad, b"blob").status_code, 400, "the push of a blob")
    checks.equal(registry.referrers(bad).status_code, 400, "referrers")
