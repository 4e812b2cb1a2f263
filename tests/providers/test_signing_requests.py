"""A worker asks for the signature of a release: here, or from a worker that has the key-encryption key."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.jobs import queue
from apps.jobs.models import Job
from apps.lib.process import metrics
from apps.providers import publishing
from apps.providers.models import ProviderVersion
from apps.providers.signatures import recomputing, requests, resigning
from apps.providers.tasks import resign_provider, sign_release
from apps.releases.models import Release
from apps.signing import keys, signer
from apps.signing.models import PrivateKey, SignatureRequest, SigningKey, State
from apps.signing.verifying import verify
from tests.builders.keys import signing_key
from tests.providers.draft_client import LINUX, codes, dist, hold, signed, work, zips
from tests.providers.draft_client import SUMS as SUMS_NAME
from tests.providers.signing_client import ask


class SigningWorker(threading.Thread):
    """Runs the jobs of the other queue, as a worker of another host would."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()

    def run(self) -> None:
        try:
            while not self.over.wait(0.02):
                for job in Job.objects.filter(kind=requests.JOB, state="queued"):
                    sign_release(job_id=job.pk)
        finally:
            connection.close()


@pytest.fixture
def elsewhere(transactional_db, settings, worker_host) -> Iterator[None]:
    settings.WORKER_QUEUES = ["check"]
    signing = SigningWorker()
    signing.start()
    yield
    signing.over.set()
    signing.join()


# --- What it signs ----------------------------------------------------------------------------------------------------


def assert_signed_and_recorded(key: SigningKey) -> None:
    version = ProviderVersion.objects.get()
    sums, signature = (b"".join(store.read(one)) for one in (version.sums_digest, version.signature_digest))
    assert verify(data=sums, signature=signature, keys=[key]) == key
    [event] = AuditEvent.objects.filter(kind=Kind.RELEASE_SIGNED)
    assert event.subject == "acme/dns 1.2.0"
    assert event.detail == {
        "release": version.release_id,
        "key": key.pk,
        "fingerprint": key.fingerprint,
        "digest": version.sums_digest,
        "signature": version.signature_digest,
    }
    assert not SignatureRequest.objects.exists()


@pytest.mark.both
def test_a_worker_without_the_key_asks_one_that_has_it(elsewhere, draft_client, held):
    assert draft_client.publish(zips(), protocols=["5.0"])["state"] == "published"

    assert_signed_and_recorded(held)
    assert Job.objects.get(kind=requests.JOB).state == "succeeded"


def test_a_host_that_checks_and_signs_records_the_same_without_a_job(draft_client, held):
    before = metrics.registry.get_sample_value("larder_signatures_total", {"algorithm": held.algorithm}) or 0.0
    assert draft_client.publish(zips(), protocols=["5.0"])["state"] == "published"

    assert_signed_and_recorded(held)
    assert metrics.registry.get_sample_value("larder_signatures_total", {"algorithm": held.algorithm}) == before + 1
    assert not Job.objects.filter(kind=requests.JOB).exists()


def test_a_version_is_signed_again_through_another_host(elsewhere, draft_client, held, acme, dora, tofu):
    assert draft_client.publish(zips(), protocols=["5.0"])["state"] == "published"
    new = hold(acme, dora, signing_key("ed25519"))
    resigning.resign(viewer=Viewer(dora), address=ProviderVersion.objects.get().provider.address, version="1.2.0")
    resign_provider(job_id=Job.objects.get(kind=resigning.JOB).pk)

    assert ProviderVersion.objects.get().key == new
    events = AuditEvent.objects.filter(kind=Kind.RELEASE_SIGNED).order_by("pk")
    assert [event.detail["fingerprint"] for event in events] == [held.fingerprint, new.fingerprint]


def test_a_request_of_a_killed_worker_is_forgotten(waiting, held):
    left = SignatureRequest.objects.create(release_id=waiting.pk, key=held)
    SignatureRequest.objects.filter(pk=left.pk).update(made_at=timezone.now() - timedelta(minutes=61))
    assert ask(waiting, held).signature

    assert not SignatureRequest.objects.filter(pk=left.pk).exists()


def test_the_next_attempt_drops_the_request_of_the_one_before_so_that_nothing_is_refused(waiting, held):
    """Otherwise the signing worker would find a release that is being checked, and raise an alarm."""
    left = SignatureRequest.objects.create(release_id=waiting.pk, key=held)
    job = queue.enqueue(requests.JOB, target=left.pk, created_by_id=None)
    work()
    sign_release(job_id=job.pk)

    assert Release.objects.get().state == "published"
    assert not AuditEvent.objects.filter(kind=Kind.RELEASE_SIGNING_REFUSED).exists()


@pytest.mark.both
def test_a_signature_that_nobody_waits_for_is_thrown_away(waiting, held, monkeypatch):
    def sign_while_the_request_goes(**given):
        SignatureRequest.objects.all().delete()
        return true_sign(**given)

    true_sign = signer.sign
    monkeypatch.setattr(signer, "sign", sign_while_the_request_goes)
    row = SignatureRequest.objects.create(release_id=waiting.pk, key=held)
    sign_release(job_id=queue.enqueue(requests.JOB, target=row.pk, created_by_id=None).pk)

    assert not AuditEvent.objects.filter(kind=Kind.RELEASE_SIGNED).exists()


# --- What a publisher is told -----------------------------------------------------------------------------------------


def before_it_asks(monkeypatch, change) -> None:
    def change_and_ask(release, **more):
        change(release)
        return true_ask(release, **more)

    true_ask = requests.signature_of
    monkeypatch.setattr(requests, "signature_of", change_and_ask)


def test_the_publisher_learns_that_the_registry_refused(draft_client, held, monkeypatch):
    before_it_asks(monkeypatch, lambda release: Release.objects.filter(pk=release.pk).update(digest="ab" * 32))
    document = draft_client.publish(zips(), protocols=["5.0"])

    assert (document["state"], codes(document)) == ("rejected", ["signing_refused"])
    assert "ask an operator" in document["reasons"][0]["hint"]


def test_it_learns_from_another_host_that_the_key_has_ended(elsewhere, draft_client, held, monkeypatch):
    before_it_asks(monkeypatch, lambda _: SigningKey.objects.update(state=State.RETIRED))
    document = draft_client.publish(zips(), protocols=["5.0"])

    assert (document["state"], codes(document)) == ("rejected", ["key_ended"])


def test_it_learns_from_another_host_that_the_seal_is_broken(elsewhere, draft_client, held):
    PrivateKey.objects.filter(key=held).update(ciphertext=b"x" * 64)
    draft_client.publish(zips(), protocols=["5.0"])
    job = Job.objects.get(kind=publishing.JOB)

    assert (job.state, job.error.partition(":")[0]) == ("queued", "SealBroken")


@pytest.mark.both
def test_without_a_worker_that_signs_it_waits_and_says_so(transactional_db, draft_client, held, settings, monkeypatch):
    settings.WORKER_QUEUES = ["check"]
    monkeypatch.setattr(requests, "PATIENCE_SECONDS", 0.2)
    draft_client.publish(zips(), protocols=["5.0"])
    job = Job.objects.get(kind=publishing.JOB)

    assert (job.state, job.attempts) == ("queued", 0)
    assert "No signing worker answered" in job.error
    assert not SignatureRequest.objects.exists()
    sign_release(job_id=Job.objects.get(kind=requests.JOB).pk)
    assert Job.objects.get(kind=requests.JOB).state == "succeeded"
    assert not AuditEvent.objects.filter(kind=Kind.RELEASE_SIGNING_REFUSED).exists()


@pytest.mark.slow
def test_it_waits_for_as_long_as_a_worker_reads(elsewhere, draft_client, held, monkeypatch):
    """Packages of some gigabytes take longer than a worker may need to begin."""

    def read_slowly(release):
        slow.wait(0.6)
        return true_sums(release)

    slow, true_sums = threading.Event(), recomputing.sums_of
    monkeypatch.setattr(recomputing, "sums_of", read_slowly)
    monkeypatch.setattr(requests, "PATIENCE_SECONDS", 0.2)

    assert draft_client.publish(zips(), protocols=["5.0"])["state"] == "published"


def test_sums_of_a_publisher_with_lines_for_other_files_are_signed_again(
    draft_client, registered, acme, dora, worker_host
):
    files = dist()
    files[SUMS_NAME] += f"{'c' * 64}  {LINUX}.sbom.json\n".encode()
    assert draft_client.publish(signed(files))["state"] == "published"
    keys.retire(key=registered, actor=Viewer(dora), reason="Replaced.")
    new = hold(acme, dora)
    resigning.resign(viewer=Viewer(dora), address=ProviderVersion.objects.get().provider.address, version="1.2.0")

    assert ask(Release.objects.get(), new).signature


def test_each_reason_is_exported_before_it_is_counted():
    """Prometheus sees no increase where a series begins with 1: the first refusal would raise no alarm."""
    assert all(
        metrics.registry.get_sample_value("larder_signing_refusals_total", {"reason": why}) is not None
        for why in recomputing.WHY
    )
