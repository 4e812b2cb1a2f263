"""The worker publishes a submitted draft, also after outages and concurrent changes."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.blobs import store
from apps.jobs.models import Job
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import NotFound
from apps.providers import lifecycle, publishing, reading
from apps.providers.drafting import assembling
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.lifecycle import verification
from apps.releases.models import Release, ReleaseFile, SearchDoc
from apps.releases.publishing import sweeping
from apps.signing import keys, vault
from tests.providers.draft_client import (
    LINUX,
    SIGNATURE,
    STEM,
    SUMS,
    DraftClient,
    codes,
    dist,
    signed,
    work,
    zips,
)

ADDRESS = ProviderAddress("acme", "dns")


def test_without_the_key_encryption_key_the_job_waits_and_no_attempt_counts(draft_client, held):
    release = draft_client.hand_over(zips(), protocols=["5.0"])
    vault.lock()
    work()
    release.refresh_from_db()
    job = Job.objects.get(kind=publishing.JOB)

    assert (release.state, job.state, job.attempts) == ("signing", "queued", 0)
    assert [step["state"] for step in draft_client.get()["steps"]] == ["done", "done", "running", "waiting"]
    assert not Provider.objects.exists()
    vault.unlock()
    work()
    release.refresh_from_db()
    assert release.state == "published"


def ended_by_storage(*_):
    raise store.StorageUnavailable("Storage is away.")


@pytest.mark.both
def test_a_signature_that_an_earlier_attempt_never_stored_is_forgotten(draft_client, held, monkeypatch):
    """It was recorded before its bytes; the next attempt signs anew. The version was called damaged for it."""
    release = draft_client.hand_over(zips(), protocols=["5.0"])
    with monkeypatch.context() as patched:
        patched.setattr(assembling, "store_signed", ended_by_storage)
        work()
    left = release.blobs.filter(name=SIGNATURE)
    assert left.count() == 1
    left.update(digest="ab" * 32)  # as of another second
    work()

    version = ProviderVersion.objects.get()
    assert list(left.values_list("digest", flat=True)) == [version.signature_digest]
    assert [one.outcome for one in verification.findings_of(release)] == ["sound"] * 4


@pytest.mark.both
def test_a_key_that_is_revoked_while_the_release_is_checked_publishes_nothing(
    draft_client, registered, dora, monkeypatch
):
    draft_client.hand_over(signed(dist()))
    store_signed = assembling.store_signed

    def revoked_meanwhile(*given):
        store_signed(*given)
        keys.revoke(key=registered, actor=Viewer(dora), reason="It leaked.")

    monkeypatch.setattr(assembling, "store_signed", revoked_meanwhile)
    work()

    assert (draft_client.get()["state"], codes(draft_client.get())) == ("rejected", ["key_ended"])
    assert not Provider.objects.exists()


def test_bytes_that_change_in_staging_are_never_published(draft_client, registered):
    draft_client.hand_over(signed(dist()))
    file = ReleaseFile.objects.get(name=LINUX)
    store.stage(file.staging_key, [dist("1.2.0", protocols=())[LINUX] + b"\0" * 22])
    work()

    assert not Provider.objects.exists()
    assert not Package.objects.exists()


def test_under_a_number_that_the_database_forgot_the_same_packages_are_welcome_and_others_are_not(
    draft_client, registered
):
    draft_client.publish(signed(dist()))
    ProviderVersion.objects.all().delete()
    Release.objects.all().delete()
    other = signed(dist(protocols=("6.0",)))
    other = {name: data for name, data in other.items() if "darwin" not in name}
    lines = [line for line in other[SUMS].splitlines(keepends=True) if b"darwin" not in line]
    document = draft_client.publish(
        signed({**{k: v for k, v in other.items() if k != SIGNATURE}, SUMS: b"".join(lines)})
    )

    assert codes(document) == ["ledger_conflict"]
    assert draft_client.publish(signed(dist()))["state"] == "published"


@pytest.mark.both
def test_a_draft_that_nobody_touches_ends_with_its_files(draft_client, stored_files):
    draft_client.open()
    draft_client.put(LINUX, b"package")
    Release.objects.update(receiving_until=timezone.now() - timedelta(seconds=1))
    sweeping.sweep()

    assert codes(draft_client.get()) == ["upload_unfinished"]
    assert stored_files() == []
    assert draft_client.put(LINUX, b"package").status_code == 404
    assert draft_client.open().status_code == 201


@pytest.mark.both
def test_each_file_renews_the_draft_until_staging_would_be_swept(draft_client):
    draft_client.open()
    soon = timezone.now() + timedelta(minutes=1)
    Release.objects.update(receiving_until=soon)
    draft_client.put(LINUX, b"package")
    renewed = Release.objects.get().receiving_until
    assert renewed
    assert renewed > soon
    Release.objects.update(created_at=timezone.now() - timedelta(hours=19, minutes=59))
    draft_client.put(LINUX, b"another")
    capped = Release.objects.get().receiving_until
    assert capped
    assert capped <= soon + timedelta(minutes=1)


@pytest.mark.both
def test_a_release_whose_job_an_operator_cancelled_ends_while_it_is_signed(draft_client, held):
    release = draft_client.hand_over(zips(), protocols=["5.0"])
    Release.objects.filter(pk=release.pk).update(state="signing")
    Job.objects.update(state="cancelled", finished_at=timezone.now())
    sweeping.sweep()

    assert codes(draft_client.get()) == ["job_cancelled"]


def test_a_release_that_brings_every_worker_down_fails(draft_client, registered):
    release = draft_client.hand_over(signed(dist()))
    Job.objects.update(attempts=django_settings.JOB_ATTEMPTS)
    work()
    release.refresh_from_db()

    assert release.state == "failed"


@pytest.mark.slow
def test_lists_are_complete_and_cost_the_same_at_any_length(tofu, alice, registered, django_assert_num_queries):
    viewer = Viewer(alice)
    for number in range(3):
        stem = f"terraform-provider-dns_1.{number}.0"
        draft_client = DraftClient(tofu(alice), f"/api/v1/providers/acme/dns/1.{number}.0")
        assert draft_client.publish(signed(dist(f"1.{number}.0")))["state"] == "published", stem
        with django_assert_num_queries(2):
            listed = reading.listed_versions(viewer, ADDRESS).rows
            assert [len(version.platforms) for version in listed] == [2] * (number + 1)
    assert [version.version for version in listed] == ["1.2.0", "1.1.0", "1.0.0"]
    doc = SearchDoc.objects.get(kind="provider")
    assert (doc.name, doc.version) == ("dns", "1.2.0")


def test_a_version_is_deprecated_yanked_restored_and_put_into_quarantine(draft_client, registered, alice, dora, olga):
    draft_client.publish(signed(dist()))
    said: dict[str, Any] = {"address": ADDRESS, "version": "1.2.0", "reason": "It loses data."}

    lifecycle.deprecate(viewer=Viewer(alice), **said)
    assert [one.lifecycle for one in reading.listed_versions(Viewer(alice), ADDRESS).rows] == ["deprecated"]
    lifecycle.yank(viewer=Viewer(dora), **said)
    assert reading.listed_versions(Viewer(alice), ADDRESS).rows == []
    assert reading.package_for(Viewer(alice), ADDRESS, "1.2.0", "linux", "amd64").filename == LINUX
    lifecycle.restore(viewer=Viewer(dora), **said)
    assert len(reading.listed_versions(Viewer(alice), ADDRESS).rows) == 1
    lifecycle.quarantine(viewer=Viewer(olga), **said)
    with pytest.raises(NotFound):
        reading.package_for(Viewer(alice), ADDRESS, "1.2.0", "linux", "amd64")
    assert reading.version_for(Viewer(olga), ADDRESS, "1.2.0", even_quarantined=True).key == registered


def test_a_sums_file_without_a_signature_is_compared_and_the_registry_signs(draft_client, held):
    files = dist()
    wrong = b"0" * 64 + files[SUMS][64:]
    assert codes(draft_client.publish({**files, SUMS: wrong})) == ["sums_digest_differs"]

    document = draft_client.publish(files)
    assert (document["state"], document["signing"]) == ("published", "registry")
    sums = b"".join(store.read(ProviderVersion.objects.get().sums_digest))
    assert f"{STEM}_manifest.json".encode() not in sums
