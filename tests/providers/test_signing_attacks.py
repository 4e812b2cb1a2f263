"""The registry signs releases and not rows: what someone who can write to the database may ask for, and what not.

Each attack writes what a stolen role of the web processes could write, then lets the signing worker answer.
"""

import hashlib
from typing import Any

import pytest
from django.conf import settings as django_settings

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.jobs.models import Job
from apps.providers.models import Package, ProviderVersion
from apps.providers.signatures import recomputing, requests, resigning
from apps.providers.tasks import refuse_former_request
from apps.releases.models import Release, ReleaseFile
from apps.releases.publishing import ledger
from apps.signing import keys
from apps.signing.models import SignatureRequest
from tests.builders.keys import signing_key
from tests.providers.draft_client import LINUX, hold
from tests.providers.signing_client import ask, assert_refused, refusals
from tests.rows import for_each_row

SUMS = f"{'a' * 64}  terraform-provider-dns_1.2.0_linux_amd64.zip\n".encode()
PLAN_9 = "terraform-provider-dns_1.2.0_plan9_386.zip"


@pytest.fixture(autouse=True)
def _looks_again_at_once(monkeypatch):
    monkeypatch.setattr(recomputing, "PAUSES_SECONDS", (0.0, 0.0))


@pytest.mark.both
def test_bytes_in_a_row_are_never_signed(acme, held):
    """The row of a former Larder: any bytes in the form of SHA256SUMS were signed."""
    row = SignatureRequest.objects.create(key=held, data=SUMS)
    job = Job.objects.create(kind=requests.FORMER_JOB, target=row.pk)
    counted = refusals("no_release")
    refuse_former_request(job_id=job.pk)
    row.refresh_from_db()

    assert row.signature is None
    assert row.problem == "", "a former Larder would reject the release; it waits until it is replaced"
    assert refusals("no_release") == counted + 1
    assert AuditEvent.objects.get(kind=Kind.RELEASE_SIGNING_REFUSED).subject == "acme"


@pytest.mark.both
def test_bytes_beside_a_release_are_ignored(waiting, held):
    row = ask(waiting, held, data=SUMS)

    assert row.signature
    event = AuditEvent.objects.get(kind=Kind.RELEASE_SIGNED)
    assert event.detail["digest"] == waiting.digest != hashlib.sha256(SUMS).hexdigest()


CHANGES: dict[str, tuple[Any, dict[str, str], str]] = {
    **{
        state: (Release, {"state": state}, "state")
        for state in ("receiving", "received", "checking", "held", "rejected", "failed")
    },
    "other sums": (Release, {"digest": hashlib.sha256(SUMS).hexdigest()}, "sums"),
    **{
        name: (ReleaseFile, {"name": name}, "sums")
        for name in (PLAN_9, "terraform-provider-other_9.9.9_linux_amd64.zip", "evil.txt")
    },
}


@pytest.mark.slow
@for_each_row("case", CHANGES)
def test_a_release_whose_rows_changed_after_the_check_is_not_signed(waiting, held, case):
    model, changes, why = CHANGES[case]
    rows = ReleaseFile.objects.filter(name=LINUX) if model is ReleaseFile else Release.objects.filter(pk=waiting.pk)
    rows.update(**changes)

    assert_refused(waiting, held, why)


def test_a_release_that_does_not_exist_is_not_signed(acme, held):
    assert_refused(Release(pk=4711), held, "state")


def test_a_published_version_is_signed_again_only_if_an_owner_asked(signed_version, held):
    assert_refused(signed_version, held, "state")


def test_another_stored_blob_after_the_check_is_not_signed(waiting, held):
    staged = stored(b"a program that no worker has read")
    ReleaseFile.objects.filter(name=LINUX).update(digest=staged.digest, size=staged.size)

    assert_refused(waiting, held, "sums")


def stored(data: bytes) -> store.Staged:
    staged = store.stage("evil", [data])
    store.store_staged("evil", digest=staged.digest, size=staged.size)
    return staged


def test_a_stored_package_that_was_altered_or_is_missing_is_not_signed(waiting, held, damage):
    digest = ReleaseFile.objects.get(name=LINUX).digest
    damage(digest)
    assert_refused(waiting, held, "blob")
    (django_settings.DATA_DIR / "blobs" / "sha256" / digest[:2] / digest).unlink()

    assert_refused(waiting, held, "blob")


def test_a_stored_package_that_storage_shows_late_is_signed(waiting, held, monkeypatch):
    """S3 and its likes may answer 404 for seconds after they took an object."""
    digest = ReleaseFile.objects.get(name=LINUX).digest
    stored = django_settings.DATA_DIR / "blobs" / "sha256" / digest[:2] / digest
    hidden = stored.rename(stored.with_name("hidden"))
    monkeypatch.setattr(recomputing, "PAUSES_SECONDS", (0.1, 0.2))
    monkeypatch.setattr("time.sleep", lambda seconds: seconds == 0.2 and hidden.rename(stored))

    assert ask(waiting, held).signature


def test_a_number_that_was_published_with_other_packages_is_not_signed(waiting, held):
    """The database says nothing of it; the ledger in storage does."""
    ledger.enter(Release(**{**vars_of(waiting), "uploaded_digest": "ab" * 32}), digest="cd" * 32)

    assert_refused(waiting, held, "ledger")


def vars_of(release: Release) -> dict[str, Any]:
    names = ("kind", "namespace", "name", "version", "folder")
    return {name: getattr(release, name) for name in names}


def test_no_key_signs_but_an_active_one_of_the_namespace_in_the_registry(waiting, held, registered, pantry, olga, dora):
    assert_refused(waiting, hold(pantry, olga, signing_key("rsa2048")), "key")
    assert_refused(waiting, registered, "key")  # a publisher's
    keys.retire(key=held, actor=Viewer(dora), reason="Replaced.")

    assert_refused(waiting, held, "key_ended")


def publish_other_sums() -> None:
    digest = stored(SUMS).digest
    ProviderVersion.objects.update(sums_digest=digest)
    Release.objects.update(digest=digest)


@for_each_row(
    ("change", "why"),
    [
        (lambda: Package.objects.filter(filename=LINUX).update(digest="ab" * 32), "blob"),
        (lambda: Package.objects.filter(filename=LINUX).update(filename=PLAN_9), "sums"),
        (publish_other_sums, "sums"),
    ],
    ids=["the digest of a package", "the name of a package", "other sums"],
)
def test_a_published_version_with_other_contents_is_not_signed_again(signed_version, held, dora, acme, change, why):
    new = hold(acme, dora, signing_key("ed25519"))
    resigning.resign(viewer=Viewer(dora), address=ProviderVersion.objects.get().provider.address, version="1.2.0")
    change()

    assert_refused(signed_version, new, why)
