"""A module package that is pushed under a version becomes a release. No worker runs beside these tests, so a push is
told to come again (503), a worker works, and the same push again says how it went: the way of slow checks.
"""

import hashlib

import pytest

from apps.artifacts import names
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.modules.models import ModuleVersion
from apps.releases.lifecycle import purging
from apps.releases.models import Release
from apps.releases.tasks import purge_blob
from tests.oci.manifests.documents import MODULE_PACKAGE, code_of, descriptor, digest_of, image
from tests.oci.packages.samples import LATER, NAME, RAW, ZIP, purge
from tests.rows import for_each_row


def listed(client, name: str = NAME) -> list[str]:
    document = client.get(f"/v1/modules/{name}/versions").json()
    return [one["version"] for one in document["modules"][0]["versions"]]


@pytest.mark.both
def test_it_is_a_release_like_any_other_and_stays_the_manifest_that_was_pushed(
    push, pusher, client, django_assert_max_num_queries
):
    answer = push(LATER)

    assert answer.status_code == 201
    assert answer.headers["Docker-Content-Digest"] == digest_of(LATER)
    one = pusher(NAME)
    for reference in ("1.2.0", digest_of(LATER), "latest"):
        with django_assert_max_num_queries(3):  # token, gate, version with its manifest
            assert one.get(reference).content == LATER
        head = one.head(reference)
        assert (head.status_code, head.headers["Content-Length"]) == (200, str(len(LATER)))
    assert one.tags().json()["tags"] == ["1.2.0", "latest"]
    assert listed(client) == ["1.2.0"]
    location = client.get(f"/v1/modules/{NAME}/1.2.0/download").json()["location"]
    assert f"checksum=sha256:{hashlib.sha256(ZIP).hexdigest()}" in location
    release = Release.objects.get(state="published")
    assert release.digest == release.uploaded_digest == hashlib.sha256(ZIP).hexdigest()
    version = ModuleVersion.objects.get(release=release)
    assert version.manifest_digest == digest_of(LATER)
    assert version.inspection["units"][0]["variables"][0]["name"] == "name"
    assert push(LATER).status_code == 201, "the same push again is welcome and changes nothing"
    assert Release.objects.count() == 1
    kinds = list(AuditEvent.objects.filter(subject=f"{NAME} 1.2.0").order_by("pk").values_list("kind", flat=True))
    assert [kind.rpartition(":")[2] for kind in kinds] == ["reserved", "received", "published"]


def test_its_bytes_stay_where_they_are_and_count_once(pusher, pantry, work, stored_files):
    pantry.quota_bytes = len(b"{}") + len(ZIP) + len(RAW)
    pantry.save()
    one = pusher(NAME)
    for data in (b"{}", ZIP):
        one.blob(data)
    before = stored_files()

    assert one.put(RAW, "1.2.0").status_code == 503
    assert stored_files() == before, "nothing is staged a second time"
    work()
    assert one.put(RAW, "1.2.0").status_code == 201
    assert [name for name in stored_files() if name.startswith("sha256/")] == before


@for_each_row(
    ("tag", "is_one"),
    [("1.2.0", True), ("1.2.0-rc.1", True), ("1.2.0_b.5", True), ("1.2.0-rc.1_b", True)]
    + [(tag, False) for tag in ("v1.2.0", "1.2", "01.2.3", "latest", "1.2.0_", "1.2.0_a_b", "x" * 129)],
)
def test_which_tags_are_versions(tag, is_one):
    assert names.is_release_tag(tag) is is_one


@pytest.mark.both
def test_a_purge_takes_the_pushed_bytes_along(push, pusher, olga, stored_files):
    assert push().status_code == 201
    one, blob = pusher(NAME), f"/v2/{NAME}/blobs/{digest_of(ZIP)}"
    assert one.put(RAW, "main").status_code == 201
    purge(olga, "1.2.0")

    for reference in ("1.2.0", "main", "latest", digest_of(RAW)):
        assert code_of(one.get(reference)) == (404, "MANIFEST_UNKNOWN")
    assert code_of(one.client.get(blob)) == (404, "BLOB_UNKNOWN")
    job = Job.objects.get(kind=purging.JOB)
    purge_blob(job_id=job.pk)
    assert not any(hashlib.sha256(ZIP).hexdigest() in name for name in stored_files())


@pytest.mark.both
def test_a_purge_leaves_the_bytes_to_another_version_of_the_module(push, pusher, olga):
    assert push().status_code == push(tag="1.3.0").status_code == 201
    purge(olga, "1.2.0")

    one = pusher(NAME)
    assert one.get("1.3.0").content == one.get(digest_of(RAW)).content == RAW
    assert one.client.head(f"/v2/{NAME}/blobs/{digest_of(ZIP)}").status_code == 200
    assert code_of(one.get("1.2.0")) == (404, "MANIFEST_UNKNOWN")


def test_a_zip_that_is_addressed_by_its_sha512_is_published_all_the_same(pusher, work, client):
    one = pusher(NAME)
    one.blob(b"{}")
    one.blob(ZIP, "sha512")
    raw = image(artifactType=MODULE_PACKAGE, layers=[descriptor(ZIP, "archive/zip", "sha512")])
    assert one.put(raw, "1.2.0").status_code == 503
    work()

    assert one.put(raw, "1.2.0").status_code == 201
    assert one.get("1.2.0").content == raw
    assert Release.objects.get().digest == hashlib.sha256(ZIP).hexdigest()


@for_each_row("algorithm", ["sha256", "sha512"])
def test_a_version_may_be_named_beside_the_digest_and_is_the_same_by_another(pusher, work, client, algorithm):
    one, digest = pusher(NAME), digest_of(RAW, algorithm)
    for data in (b"{}", ZIP):
        one.blob(data)
    assert one.put(RAW, digest, query="?tag=1.2.0&tag=stable").status_code == 503
    assert code_of(one.get("stable")) == (404, "MANIFEST_UNKNOWN")
    work()

    answer = one.put(RAW, digest, query="?tag=1.2.0&tag=stable")

    assert answer.status_code == 201
    assert answer.headers["OCI-Tag"] == "1.2.0, stable"
    assert one.head("1.2.0").headers["Docker-Content-Digest"] == digest
    assert listed(client) == ["1.2.0"]
    for reference in (digest_of(RAW), "1.2.0"):
        assert one.put(RAW, reference).status_code == 201
    assert one.get("1.2.0").content == RAW


@for_each_row("tag", ["1.2.0", "stable"])
def test_what_was_pulled_can_be_pushed_back_and_tagged_without_its_blobs(published, pusher, tag):
    """`oras tag` and `oras cp` find the blobs of a release there, so they send none."""
    published(NAME, "1.2.0")
    one = pusher(NAME)
    raw = one.get("1.2.0").content

    assert one.put(raw, tag).status_code == 201
    assert one.get(tag).content == raw
