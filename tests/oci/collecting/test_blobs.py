"""Blobs and uploads that are collected; shared bytes, dry runs, outages, and runs that stop early."""

import io
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from apps.artifacts import gc
from apps.artifacts.models import Collection, RepositoryBlob, UploadSession
from apps.artifacts.tasks import collect as task
from apps.blobs import store
from apps.blobs.models import Blob, State
from registry_site.celery import app
from tests.oci.manifests.documents import digest_of, image
from tests.oci.packages.samples import NAME, purge
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db

DATA = b"nobody came back for this" * 50


def blob_status(one, data=DATA):
    response = one.client.get(f"/v2/{one.name}/blobs/{digest_of(data)}")
    assert response.status_code == 404 or response.getvalue() == data
    return response.status_code


@for_each_row("is_deleted", [False, True], ids=["left", "deleted over the API"])
def test_a_blob_without_a_manifest_goes_after_the_grace_with_its_bytes(repo, days_pass, stored_files, is_deleted):
    one = repo()
    one.blob(DATA)
    gc.collect()
    assert blob_status(one) == 200

    days_pass()
    if is_deleted:
        one.client.delete(f"/v2/{one.name}/blobs/{digest_of(DATA)}")
    gc.collect()
    assert (blob_status(one), stored_files()) == (404, [])


def test_a_pusher_who_is_told_that_it_is_there_finds_it_there(repo, days_pass):
    one = repo()
    one.blob(DATA)
    days_pass()
    assert one.client.head(f"/v2/{one.name}/blobs/{digest_of(DATA)}").status_code == 200

    assert gc.collect().repository_blobs == 0
    one.blob(b"{}")
    assert one.put(image(DATA), "main").status_code == 201


@for_each_row("chunks", [0, 2])
def test_an_upload_that_lapsed_goes_with_its_chunks(repo, days_pass, stored_files, chunks):
    one = repo()
    url = one.client.post(f"/v2/{one.name}/blobs/uploads/").headers["Location"]
    for _ in range(chunks):
        assert one.client.generic("PATCH", url, DATA, "application/octet-stream").status_code == 202
    assert gc.collect().uploads == 0

    days_pass()
    assert gc.collect().uploads == 1
    assert (stored_files(), UploadSession.objects.count()) == ([], 0)
    assert one.client.get(url).status_code == 404


def test_an_upload_that_somebody_sends_to_is_left_alone(repo, days_pass):
    one = repo()
    one.client.post(f"/v2/{one.name}/blobs/uploads/")
    days_pass()
    UploadSession.objects.update(
        lease=UploadSession.objects.get().pk, lease_until=timezone.now() + timedelta(minutes=1)
    )
    assert gc.collect().uploads == 0


@for_each_row(("state", "taken"), [("published", 0), ("checking", 0), ("rejected", 1)])
def test_a_release_holds_its_bytes_also_on_its_way_and_a_rejected_one_does_not(days_pass, published, state, taken):
    release = published(NAME, "1.2.0")
    type(release).objects.filter(pk=release.pk).update(state=state)
    days_pass()

    assert gc.collect(dry_run=True).blobs == taken
    if not taken:
        assert gc.collect().blobs == 0
        assert store.remove(release.digest) is False
        assert store.size_of(release.digest) == release.size


def test_what_was_claimed_and_never_stored_is_cleared_away(repo, days_pass):
    one = repo()
    one.blob(DATA)
    RepositoryBlob.objects.all().delete()
    Blob.objects.update(state=State.PENDING)
    gc.collect()
    assert Blob.objects.count() == 1

    days_pass()
    gc.collect()
    assert Blob.objects.count() == 0


@pytest.mark.both
def test_what_was_pushed_here_goes_with_the_purged_release_but_not_from_elsewhere(
    repo, days_pass, published, olga, work, stored_files
):
    release = published(NAME, "1.2.0")
    data = b"".join(store.read(release.digest))
    other = repo("pantry/other/aws")
    other.push(image(data), "copy", data)
    purge(olga, "1.2.0")
    work()
    days_pass()
    gc.collect()
    assert blob_status(other, data) == 200

    other.delete("copy")
    days_pass()
    gc.collect()
    assert (blob_status(other, data), [key for key in stored_files() if release.digest in key]) == (404, [])


@pytest.mark.both
def test_a_dry_run_counts_and_takes_nothing(repo, days_pass, stored_files):
    one, out = repo(), io.StringIO()
    one.blob(DATA)
    one.push(image())
    RepositoryBlob.objects.filter(blob__digest=digest_of(DATA)[7:]).delete()
    one.client.post(f"/v2/{one.name}/blobs/uploads/")
    days_pass()
    before = stored_files()
    call_command("collect_oci", "--dry-run", stdout=out)

    assert out.getvalue() == (
        "Would remove 1 uploads, 0 tags, 1 manifests, 0 blobs of repositories, "
        f"1 blobs with {len(DATA)} bytes in storage.\n"
    )
    assert stored_files() == before
    assert Collection.objects.count() == 0
    out = io.StringIO()
    call_command("collect_oci", stdout=out)
    assert out.getvalue().startswith("Removed 1 uploads, 0 tags, 1 manifests, 1 blobs of repositories, 2 blobs with ")
    assert stored_files() == []


@pytest.fixture
def five(repo, days_pass):
    """Five blobs that nobody came back for."""
    one = repo()
    for number in range(5):
        one.blob(DATA + b"%d" % number)
    days_pass()


@pytest.mark.both
def test_a_run_that_ends_early_is_taken_up_by_the_next(five, monkeypatch):
    monkeypatch.setattr(gc, "BATCH_SIZE", 2)

    figures = gc.collect(most=timedelta(0))
    assert (figures.is_complete, figures.blobs, Blob.objects.count()) == (False, 0, 5)
    figures = gc.collect()
    assert (figures.is_complete, figures.repository_blobs, figures.blobs) == (True, 5, 5)
    assert gc.collect().blobs == 0


def test_while_storage_is_away_nothing_is_lost_and_the_next_run_goes_on(five, monkeypatch, stored_files):
    def away(*_: object) -> None:
        raise store.StorageUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr("apps.blobs.backends.local.LocalBackend.delete", away)
        figures = gc.collect()
    assert (figures.is_complete, figures.blobs, len(stored_files())) == (False, 0, 5)

    assert gc.collect().blobs == 5
    assert stored_files() == []


@pytest.mark.both
def test_the_beat_runs_it_and_every_run_leaves_its_figures_for_a_quarter(repo, days_pass):
    Collection.objects.create(begun_at=timezone.now() - timedelta(days=91))
    young = Collection.objects.create(begun_at=timezone.now() - timedelta(days=89))
    repo().blob(DATA)
    days_pass()
    assert [entry["task"] for entry in app.conf.beat_schedule.values()].count("oci.collect") == 1
    task()

    run = Collection.objects.latest("begun_at")
    assert set(Collection.objects.values_list("pk", flat=True)) == {young.pk, run.pk}
    assert run.is_complete
    assert 0 < run.seconds < 600
    assert run.figures == {
        "uploads": 0,
        "tags": 0,
        "manifests": 0,
        "repository_blobs": 1,
        "blobs": 1,
        "bytes": len(DATA),
    }
