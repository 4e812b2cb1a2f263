"""Manifests that are collected, those that stay, and their blobs."""

import pytest

from apps.artifacts import gc
from apps.artifacts.models import Manifest, RepositoryBlob
from apps.audit.models import AuditEvent
from apps.blobs.models import Blob
from tests.oci.manifests.documents import attached, digest_of, image, index
from tests.oci.packages.samples import NAME, RAW, ZIP, purge
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db

LAYER = b"a layer" * 100


def test_what_has_a_tag_stays_with_all_that_it_names_and_so_does_what_is_young(repo, days_pass, stored_files):
    one = repo()
    one.push(image(LAYER), "main", LAYER)
    days_pass()
    one.push(image(b"young"), "", b"young")

    assert gc.collect().sentence.startswith("0 uploads, 0 tags, 0 manifests, 0 blobs of repositories, 0 blobs")
    assert one.get("main").status_code == 200
    assert one.client.head(f"/v2/{one.name}/blobs/{digest_of(LAYER)}").status_code == 200
    assert len(stored_files()) == 3


@pytest.mark.both
def test_what_has_none_goes_with_its_layers_and_their_bytes(repo, days_pass, stored_files):
    one = repo()
    digest = one.push(image(LAYER), "", LAYER)
    days_pass()
    figures = gc.collect()

    assert (figures.manifests, figures.repository_blobs, figures.blobs) == (1, 2, 2)
    assert figures.bytes == len(LAYER) + 2
    assert (one.get(digest).status_code, stored_files(), Blob.objects.count()) == (404, [], 0)
    assert AuditEvent.objects.get(kind="namespace:manifest:collected").detail == {"digest": digest}


@for_each_row("how", ["deleted", "moved"])
def test_what_loses_its_tag_stays_for_as_long_as_what_is_pushed(repo, days_pass, how):
    one = repo()
    digest = one.push(image(LAYER), "main", LAYER)
    days_pass()
    if how == "deleted":
        one.delete("main")
    else:
        one.push(image(), "main")
    gc.collect()
    assert one.get(digest).status_code == 200

    days_pass()
    gc.collect()
    assert one.get(digest).status_code == 404


@pytest.mark.both
def test_the_manifests_of_an_index_stay_and_go_with_it(repo, days_pass, stored_files):
    one, child = repo(), image(LAYER)
    one.push(child, "", LAYER)
    one.push(index(child), "all")
    days_pass()
    gc.collect()
    assert one.get(digest_of(child)).status_code == 200

    one.delete("all")
    days_pass()
    assert gc.collect().manifests == 2
    assert stored_files() == []


@pytest.mark.both
def test_what_is_attached_stays_and_goes_with_its_subject(repo, days_pass, stored_files):
    one, subject = repo(), image(LAYER)
    one.push(subject, "main", LAYER)
    sbom = one.push(attached(subject))
    signature = one.push(attached(attached(subject), "application/vnd.example.signature"))
    days_pass()
    gc.collect()
    assert [one.get(digest).status_code for digest in (sbom, signature)] == [200, 200]

    one.delete("main")
    days_pass()
    assert gc.collect().manifests == 3
    assert stored_files() == []


def test_what_is_attached_waits_for_its_subject(repo, days_pass):
    one, subject = repo(), image(LAYER)
    early = one.push(attached(subject))
    gc.collect()
    assert one.get(early).status_code == 200

    days_pass()
    gc.collect()
    assert one.get(early).status_code == 404


def test_an_artifact_of_a_release_stays_until_the_release_is_purged(repo, days_pass, published, olga):
    published(NAME, "1.2.0")
    one = repo()
    subject = one.get("1.2.0").content
    sbom = one.push(attached(subject))
    days_pass()
    gc.collect()
    assert one.get(sbom).status_code == 200

    purge(olga, "1.2.0")
    gc.collect()
    assert one.get(sbom).status_code == 404


def test_the_pushed_manifest_of_a_release_stays(repo, days_pass, work):
    one = repo()
    for data in (b"{}", ZIP):
        one.blob(data)
    assert one.put(RAW, "1.2.0").status_code == 503
    days_pass()
    gc.collect()
    assert Manifest.objects.count() == 1, "its release is on its way"

    work()
    assert one.put(RAW, "1.2.0").status_code == 201
    days_pass()
    gc.collect()
    assert one.get("1.2.0").content == RAW
    assert RepositoryBlob.objects.count() == 2


@pytest.mark.both
def test_the_same_in_another_repository_is_no_reason_to_stay(repo, days_pass):
    mine, other = repo(), repo("pantry/other/aws")
    digest = mine.push(image(LAYER), "", LAYER)
    other.push(image(LAYER), "main", LAYER)
    days_pass()
    figures = gc.collect()

    assert (figures.manifests, figures.repository_blobs, figures.blobs) == (1, 2, 0)
    assert (mine.get(digest).status_code, other.get(digest).status_code) == (404, 200)


@pytest.mark.both
def test_case_25_what_a_tag_attaches_has_a_day_before_its_subject_comes_and_goes_with_it(repo, days_pass, stored_files):
    one, subject, signature = repo(), image(LAYER), image(b"signature")
    tag = digest_of(subject).replace(":", "-") + ".sig"
    one.push(signature, tag, b"signature")
    assert gc.collect().tags == 0
    digest = one.push(subject, "main", LAYER)
    days_pass()
    assert gc.collect().tags == 0
    assert one.get(tag).content == signature

    one.delete(digest)
    assert gc.collect(dry_run=True).tags == 1
    figures = gc.collect()
    assert (figures.tags, figures.manifests, one.get(tag).status_code) == (1, 1, 404)
    assert stored_files() == []
    assert AuditEvent.objects.filter(kind="namespace:tag:deleted").latest("pk").detail["tags"] == [tag]
