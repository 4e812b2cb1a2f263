"""A release that the registry signs waits while the key service is away, and no attempt counts."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.blobs import store
from apps.contrib.kms.addresses import KINDS
from apps.contrib.kms.tests.vault_server import TOKEN, FakeVault, vault_server
from apps.jobs import queue
from apps.jobs.models import Job
from apps.lib.settings_values.kek_urls import parse_all
from apps.providers import publishing
from apps.providers.models import ProviderVersion
from apps.providers.signatures import requests
from apps.providers.tasks import sign_release
from apps.releases.models import Release
from apps.signing import keys, kms, vault
from apps.signing.models import SignatureRequest, SigningKey
from apps.signing.tasks import make_signing_key
from apps.signing.verifying import verify
from tests.providers.draft_client import hold, work, zips
from tests.rows import for_each_row


@pytest.fixture
def bao(settings, tmp_path: Path, worker_host: None) -> Iterator[FakeVault]:
    (tmp_path / "token").write_text(TOKEN)
    with vault_server() as fake:
        settings.SIGNING_KEKS = parse_all([fake.url(tmp_path / "token")], KINDS)
        yield fake
        kms.forget()


@pytest.mark.slow
@for_each_row("status", [503, 403])
def test_a_release_waits_for_five_minutes_and_is_published(bao: FakeVault, acme, dora, draft_client, status: int):
    held = hold(acme, dora)
    kms.forget()
    release = draft_client.hand_over(zips(), protocols=["5.0"])
    bao.status = status
    fences = []
    # As often as the reaper would ring in five minutes: after 2, 4, 8, 16 and then every 30 s.
    for _ in range(13):
        work()
        job = Job.objects.get(kind=publishing.JOB)
        release.refresh_from_db()
        assert (release.state, job.state, job.attempts) == ("signing", "queued", 0)
        assert "Vault" in job.error
        assert TOKEN not in job.error
        assert job.not_before is not None
        assert timezone.now() < job.not_before < timezone.now() + timedelta(seconds=31)
        fences.append(job.fence)
    assert fences == sorted(set(fences))

    bao.status = 0
    work()
    release.refresh_from_db()
    job.refresh_from_db()
    assert (release.state, job.state, job.attempts) == ("published", "succeeded", 1)
    version = ProviderVersion.objects.get()
    sums, signature = (b"".join(store.read(one)) for one in (version.sums_digest, version.signature_digest))
    assert verify(data=sums, signature=signature, keys=[held]) == held


def test_a_key_that_an_owner_asked_for_is_made_after_the_outage(bao: FakeVault, acme, dora):
    key = keys.request(namespace=acme, algorithm="ed25519", actor=Viewer(dora))
    bao.status = 503
    job = Job.objects.get(kind=keys.JOB)
    for _ in range(3):
        Job.objects.update(not_before=None)
        make_signing_key(job_id=job.pk)
        job.refresh_from_db()
        assert (job.state, job.attempts) == ("queued", 0)
    bao.status = 0
    Job.objects.update(not_before=None)
    make_signing_key(job_id=job.pk)

    key.refresh_from_db()
    assert key.state == "active"


@pytest.mark.both
def test_a_request_of_another_worker_waits_as_well(bao: FakeVault, waiting: Release, held: SigningKey):
    kms.forget()
    asked = SignatureRequest.objects.create(release_id=waiting.pk, key=held)
    job = queue.enqueue(requests.JOB, target=asked.pk, created_by_id=None)
    bao.status = 503
    sign_release(job_id=job.pk)
    job.refresh_from_db()
    asked.refresh_from_db()
    assert (job.state, job.attempts, asked.signature, asked.problem) == ("queued", 0, None, "")

    bao.status = 0
    Job.objects.filter(pk=job.pk).update(not_before=None)
    sign_release(job_id=job.pk)
    asked.refresh_from_db()
    assert bytes(asked.signature or b"")


def test_a_wrapped_key_that_was_replaced_is_no_outage(bao: FakeVault, acme, dora, draft_client):
    held = hold(acme, dora)
    private = held.private_key
    wrapped = bytes(private.wrapped_key or b"")
    private.wrapped_key = wrapped[:-8] + b"AAAAAAA="
    private.save(update_fields=["wrapped_key"])
    kms.forget()
    draft_client.hand_over(zips(), protocols=["5.0"])
    work()

    assert Job.objects.get(kind=publishing.JOB).attempts == 1
    with pytest.raises(vault.SealBroken):
        vault.unseal(private)
