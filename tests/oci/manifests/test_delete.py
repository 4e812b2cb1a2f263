"""end-9: DELETE /v2/<name>/manifests/<reference>"""

import pytest

from apps.accounts.models import Scope
from apps.artifacts.models import Manifest, ManifestBlob, RepositoryBlob, Tag
from apps.audit.models import AuditEvent
from tests.builders.archives import module_zip
from tests.oci.manifests.documents import IMAGE, attached, code_of, digest_of, image, index, package


def test_a_tag_goes_alone(repo):
    at = repo()
    digest = at.push(image(), "main")
    at.put(image(), "other")

    answer = at.delete("main")

    assert (answer.status_code, answer.content) == (202, b"")
    assert code_of(at.get("main")) == (404, "MANIFEST_UNKNOWN")
    assert code_of(at.delete("main")) == (404, "MANIFEST_UNKNOWN")
    assert at.get("other").status_code == at.get(digest).status_code == 200
    event = AuditEvent.objects.get(kind="namespace:tag:deleted")
    assert (event.subject, event.detail) == ("pantry/vpc/aws", {"digest": digest, "tags": ["main"]})


@pytest.mark.both
def test_by_digest_every_tag_on_it_goes(repo):
    at = repo()
    digest = at.push(image(b"layer"), "main", b"layer")
    at.put(image(b"layer"), "other")
    kept = at.push(image(annotations={"kept": "1"}), "kept")

    assert at.delete(digest).status_code == 202

    for reference in (digest, "main", "other"):
        assert code_of(at.get(reference)) == (404, "MANIFEST_UNKNOWN")
    assert code_of(at.delete(digest)) == (404, "MANIFEST_UNKNOWN")
    assert at.tags().json()["tags"] == ["kept"]
    assert list(Manifest.objects.values_list("digest", flat=True)) == [kept]
    assert ManifestBlob.objects.count() == 1
    assert RepositoryBlob.objects.count() == 2  # blobs are deleted by themselves, or swept
    event = AuditEvent.objects.get(kind="namespace:manifest:deleted")
    assert event.detail == {"digest": digest, "tags": ["main", "other"]}


def test_what_was_attached_or_listed_goes_in_any_order(repo):
    at = repo()
    subject = at.push(image(), "main")
    sbom = at.push(attached(image()))
    at.put(index(image()), "both")

    assert at.delete(subject).status_code == 202
    assert at.get("both").status_code == 200
    assert len(at.referrers(subject).json()["manifests"]) == 1  # the subject may come back
    at.delete(sbom)
    assert at.referrers(subject).json()["manifests"] == []


def test_a_release_is_never_deleted_over_oci(repo, published, olga):
    """Case 25: `latest` and 1.2.0 share a digest. Nothing is half-deleted."""
    published("pantry/vpc/aws", "1.2.0")
    at = repo(user=olga)
    digest = at.head("1.2.0").headers["Docker-Content-Digest"]
    at.blob(b"{}")
    at.put(at.get("1.2.0").content, "stable")

    for reference in ("1.2.0", "latest", digest):
        answer = at.delete(reference)
        assert code_of(answer) == (405, "UNSUPPORTED")
        assert "yank" in answer.json()["errors"][0]["message"]
        assert "purge" in answer.json()["errors"][0]["message"]
    assert at.tags().json()["tags"] == ["1.2.0", "latest", "stable"]
    assert at.delete("stable").status_code == 202
    assert at.get(digest).status_code == 200

    url = "/api/v1/modules/pantry/vpc/aws/1.2.0/quarantine"
    assert at.client.post(url, {"reason": "bad"}, content_type="application/json").status_code == 200
    assert code_of(at.get(digest)) == (404, "MANIFEST_UNKNOWN")
    assert code_of(at.delete(digest)) == (405, "UNSUPPORTED")
    assert code_of(at.delete("1.2.0")) == (404, "MANIFEST_UNKNOWN")


@pytest.mark.both
def test_what_is_about_to_be_a_release_stays(repo, work):
    """Its push has given up waiting for the worker; the release has not given up."""
    at, archive = repo(), module_zip()
    raw = package(archive)
    at.blob(b"{}")
    at.blob(archive)
    assert code_of(at.put(raw, "1.2.0")) == (503, "UNAVAILABLE")

    assert code_of(at.delete(digest_of(raw))) == (405, "UNSUPPORTED")

    work()
    assert at.get("1.2.0").content == at.get(digest_of(raw)).content == raw
    assert at.put(raw, "1.2.0").status_code == 201


def test_a_token_of_scope_publish_deletes_what_it_pushes(repo, alice, bearer, client):
    """One for a single name pushes and deletes under that name alone."""
    for name in ("acme/vpc/aws", "acme/dns/aws"):
        repo(name).push(image(), "main")
    headers = bearer(alice, Scope.PUBLISH, only_name="vpc/aws")
    for name, pushed, deleted in (("acme/vpc/aws", 201, 202), ("acme/dns/aws", 403, 403)):
        url = f"/v2/{name}/manifests/main"
        assert client.generic("PUT", url, image(), content_type=IMAGE, headers=headers).status_code == pushed
        answer = client.delete(url, headers=headers)
        assert answer.status_code == deleted
    assert code_of(answer) == (403, "DENIED")
    assert repo("acme/vpc/aws", alice, scope=Scope.PUBLISH).delete(digest_of(image())).status_code == 202
    assert list(Tag.objects.values_list("repository__path", flat=True)) == ["dns/aws"]
