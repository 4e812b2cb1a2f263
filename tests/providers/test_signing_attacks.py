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

pytestmark = pytest.mark.both

SUMS = f"{'a' * 64}  terraform-provider-dns_1.2.0_linux_amd64.zip\n".encode()


@pytest.fixture(autouse=True)
def _looks_again_at_once(monkeypatch):
    monkeypatch.setattr(recomputing, "PAUSES_SECONDS", (0.0, 0.0))


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


def test_bytes_beside_a_release_are_ignored(waiting, held):
    row = ask(waiting, held, data=SUMS)

    assert row.signature
    event = AuditEvent.objects.get(kind=Kind.RELEASE_SIGNED)
    assert event.detail["digest"] == waiting.digest != hashlib.sha256(SUMS).hexdigest()


@for_each_row("state", ["receiving", "received", "checking", "held", "rejected", "failed"])
def test_a_release_in_another_state_is_not_signed(waiting, held, state):
    Release.objects.filter(pk=waiting.pk).update(state=state)

    assert_refused(waiting, held, "state")


def test_a_release_that_does_not_exist_is_not_signed(acme, held):
    assert_refused(Release(pk=4711), held, "state")


def test_a_published_version_is_signed_again_only_if_an_owner_asked(signed_version, held):
    assert_refused(signed_version, held, "state")


def test_other_sums_after_the_check_are_not_signed(waiting, held):
    Release.objects.filter(pk=waiting.pk).update(digest=hashlib.sha256(SUMS).hexdigest())

    assert_refused(waiting, held, "sums")


@for_each_row(
    "name",
    ["terraform-provider-dns_1.2.0_plan9_386.zip", "terraform-provider-other_9.9.9_linux_amd64.zip", "evil.txt"],
)
def test_another_name_after_the_check_is_not_signed(waiting, held, name):
    ReleaseFile.objects.filter(name=LINUX).update(name=name)

    assert_refused(waiting, held, "sums")


def test_another_stored_blob_after_the_check_is_not_signed(waiting, held):
    other = b"a program that no worker has read"
    staged = store.stage("evil", [other])
    store.store_staged("evil", digest=staged.digest, size=staged.size)
    ReleaseFile.objects.filter(name=LINUX).update(digest=staged.digest, size=staged.size)

    assert_refused(waiting, held, "sums")


def test_a_stored_package_that_was_altered_is_not_signed(waiting, held, damage):
    damage(ReleaseFile.objects.get(name=LINUX).digest)

    assert_refused(waiting, held, "blob")


def test_a_stored_package_that_is_missing_is_not_signed(waiting, held):
    digest = ReleaseFile.objects.get(name=LINUX).digest
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


def test_the_key_of_another_namespace_does_not_sign(waiting, pantry, olga):
    assert_refused(waiting, hold(pantry, olga, signing_key("rsa2048")), "key")


def test_a_publishers_key_does_not_sign(waiting, registered):
    assert_refused(waiting, registered, "key")


def test_a_key_that_has_ended_does_not_sign(waiting, held, dora):
    keys.retire(key=held, actor=Viewer(dora), reason="Replaced.")

    assert_refused(waiting, held, "key_ended")


@for_each_row(
    ("changes", "why"),
    [({"digest": "ab" * 32}, "blob"), ({"filename": "terraform-provider-dns_1.2.0_plan9_386.zip"}, "sums")],
    ids=["its digest", "its name"],
)
def test_a_published_version_with_another_package_is_not_signed_again(signed_version, held, dora, acme, changes, why):
    new = hold(acme, dora, signing_key("ed25519"))
    resigning.resign(viewer=Viewer(dora), address=ProviderVersion.objects.get().provider.address, version="1.2.0")
    Package.objects.filter(filename=LINUX).update(**changes)

    assert_refused(signed_version, new, why)


def test_other_published_sums_are_not_signed_again(signed_version, held, dora, acme):
    new = hold(acme, dora, signing_key("ed25519"))
    resigning.resign(viewer=Viewer(dora), address=ProviderVersion.objects.get().provider.address, version="1.2.0")
    staged = store.stage("evil", [SUMS])
    store.store_staged("evil", digest=staged.digest, size=staged.size)
    ProviderVersion.objects.update(sums_digest=staged.digest)
    Release.objects.update(digest=staged.digest)

    assert_refused(signed_version, new, "sums")
