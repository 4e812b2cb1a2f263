"""Every kind of content: pushed, listed, read byte for byte, found by its referrers, and deleted again."""

import pytest

from tests.oci.conformance.content import BUNDLES, INDEX

pytestmark = pytest.mark.live


@pytest.mark.parametrize("group", BUNDLES)
def test_content_comes_in_and_out_and_goes(registry, checks_of, group):
    bundle, checks = BUNDLES[group](), checks_of(group)

    push(registry, bundle, checks)
    list_tags(registry, bundle, checks)
    read(registry, bundle, checks)
    refer(registry, bundle, checks)
    delete(registry, bundle, checks)


def push(registry, bundle, checks):
    for digest, data in bundle.blobs.items():
        answer = registry.push_blob(data, bundle.algorithm)
        checks.equal(answer.status_code, 201, f"the blob {digest}")
    tag_of = {document.digest: tag for tag, document in bundle.tags.items()}
    for document in bundle.documents:
        tag = tag_of.get(document.digest, "")
        # By a tag nothing says which algorithm is meant: other documents than sha256's go by digest first.
        references = [tag] if tag and bundle.algorithm == "sha256" else [document.digest]
        for reference in references:
            answer = registry.push(document, reference)
            checks.equal(answer.status_code, 201, f"the push of {reference}")
            checks.equal(answer.headers["Docker-Content-Digest"], document.digest, "the digest that the push is told")
            checks.equal(answer.headers.get("OCI-Subject", ""), document.subject, "the subject that was understood")
            checks.among(answer.headers["Location"].rpartition("/")[2], (reference, document.digest), "where it is")
        if tag and tag not in references:
            checks.equal(registry.push(document, document.digest, params={"tag": tag}).status_code, 201, f"tag {tag}")


def list_tags(registry, bundle, checks):
    if not bundle.tags:
        return
    tags = registry.tags()
    for tag in bundle.tags:
        checks.among(tag, tags, "the list of tags")
    checks.equal(tags, sorted(tags), "the order of the tags")


def references_of(bundle):
    return [(document.digest, document) for document in bundle.documents] + list(bundle.tags.items())


def read(registry, bundle, checks):
    for digest, data in bundle.blobs.items():
        for method, body in (("HEAD", b""), ("GET", data)):
            answer = registry.ask(method, f"blobs/{digest}")
            checks.equal(answer.status_code, 200, f"{method} of the blob {digest}")
            checks.equal(answer.headers["Content-Length"], str(len(data)), "its length")
            checks.equal(answer.headers["Docker-Content-Digest"], digest, "its digest")
            checks.equal(answer.content, body, "its bytes")
    for reference, document in references_of(bundle):
        for method, body in (("HEAD", b""), ("GET", document.raw)):
            answer = registry.ask(method, f"manifests/{reference}", headers={"Accept": document.media_type})
            checks.equal(answer.status_code, 200, f"{method} of {reference}")
            checks.equal(answer.headers["Content-Type"], document.media_type, "its type")
            checks.equal(answer.headers["Content-Length"], str(len(document.raw)), "its length")
            checks.equal(answer.headers["Docker-Content-Digest"], document.digest, "its digest")
            checks.equal(answer.content, body, "its bytes")


def rows(answer, checks):
    checks.equal(answer.status_code, 200, "the referrers")
    checks.equal(answer.headers["Content-Type"], INDEX, "their type")
    found = answer.json()
    checks.equal((found["schemaVersion"], found["mediaType"]), (2, INDEX), "their head")
    return sorted(found["manifests"], key=lambda row: row["digest"])


def expected_rows(documents):
    return sorted((document.as_referrer() for document in documents), key=lambda row: row["digest"])


def refer(registry, bundle, checks):
    subjects = {document.subject for document in bundle.documents} - {""}
    for document in bundle.documents:
        if document.digest not in subjects:
            checks.equal(rows(registry.referrers(document.digest), checks), [], "referrers of what has none")
    for subject in sorted(subjects):
        attached = [document for document in bundle.documents if document.subject == subject]
        checks.equal(rows(registry.referrers(subject), checks), expected_rows(attached), "referrers")
        for kind in sorted({document.artifact_type for document in attached} - {""}):
            answer = registry.referrers(subject, artifactType=kind)
            wanted = [document for document in attached if document.artifact_type == kind]
            checks.equal(rows(answer, checks), expected_rows(wanted), f"referrers of the type {kind}")
            checks.equal(answer.headers["OCI-Filters-Applied"], "artifactType", "the filter that was applied")
        checks.equal(rows(registry.referrers(subject, artifactType="application/none"), checks), [], "of no such type")


def delete(registry, bundle, checks):
    for tag, document in bundle.tags.items():
        checks.equal(registry.ask("DELETE", f"manifests/{tag}").status_code, 202, f"deleting the tag {tag}")
        checks.equal(registry.ask("HEAD", f"manifests/{tag}").status_code, 404, f"the tag {tag} afterwards")
        checks.equal(registry.ask("HEAD", f"manifests/{document.digest}").status_code, 200, "what it named")
    for document in reversed(bundle.documents):
        path = f"manifests/{document.digest}"
        checks.equal(registry.ask("DELETE", path).status_code, 202, f"deleting {document.digest}")
        for method in ("HEAD", "GET"):
            checks.equal(registry.ask(method, path).status_code, 404, f"{method} of what was deleted")
        if document.subject:
            left = rows(registry.referrers(document.subject), checks)
            checks.equal([row for row in left if row["digest"] == document.digest], [], "referrers afterwards")
    for digest in bundle.blobs:
        checks.equal(registry.ask("DELETE", f"blobs/{digest}").status_code, 202, f"deleting the blob {digest}")
        checks.equal(registry.ask("HEAD", f"blobs/{digest}").status_code, 404, "the blob afterwards")
