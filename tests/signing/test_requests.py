"""A worker that does not sign asks one that does."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.jobs.models import Job
from apps.lib.errors import Conflict
from apps.signing import keys, requests, signer, vault
from apps.signing.models import PrivateKey, SignatureRequest, SigningKey, State
from apps.signing.tasks import make_signature
from apps.signing.verifying import verify

SUMS = f"{'a' * 64}  terraform-provider-demo_1.0.0_linux_amd64.zip\n".encode()


class SigningWorker(threading.Thread):
    """Runs the jobs of the other queue, as a worker of another host would."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()

    def run(self) -> None:
        try:
            while not self.over.wait(0.02):
                for job in Job.objects.filter(kind=requests.JOB, state="queued"):
                    make_signature(job_id=job.pk)
        finally:
            connection.close()


@pytest.fixture
def elsewhere(settings) -> Iterator[None]:
    settings.WORKER_QUEUES = ["check"]
    vault.unlock()  # the thread is the one that needs it
    worker = SigningWorker()
    worker.start()
    yield
    worker.over.set()
    worker.join()
    vault.lock()


@pytest.fixture
def key(acme, owner, make_keys) -> SigningKey:
    vault.unlock()
    pending = keys.request(namespace=acme, algorithm="ed25519", actor=owner)
    make_keys()
    vault.lock()
    pending.refresh_from_db()
    return pending


def test_it_gets_the_signature_and_leaves_no_row(transactional_db, key, elsewhere):
    signature = requests.signature_of(key=key, data=SUMS)

    assert verify(data=SUMS, signature=signature, keys=[key]) == key
    assert not SignatureRequest.objects.exists()


def test_what_a_killed_worker_asked_is_forgotten(transactional_db, key, elsewhere):
    left = SignatureRequest.objects.create(key=key, data=SUMS)
    SignatureRequest.objects.filter(pk=left.pk).update(made_at=timezone.now() - timedelta(minutes=61))

    requests.signature_of(key=key, data=SUMS)

    assert not SignatureRequest.objects.exists()


def test_it_learns_that_the_key_has_ended(transactional_db, key, elsewhere):
    SigningKey.objects.filter(pk=key.pk).update(state=State.RETIRED)

    with pytest.raises(Conflict):
        requests.signature_of(key=key, data=SUMS)


def test_it_learns_that_the_seal_is_broken(transactional_db, key, elsewhere):
    PrivateKey.objects.filter(key=key).update(ciphertext=b"x" * 64)

    with pytest.raises(signer.SealBroken):
        requests.signature_of(key=key, data=SUMS)


def test_nothing_but_sums_is_signed(transactional_db, key, elsewhere):
    with pytest.raises(Conflict):
        requests.signature_of(key=key, data=b"I owe the bearer a thousand euros.\n")


def test_without_a_worker_that_signs_it_waits_and_says_so(transactional_db, key, settings, monkeypatch):
    settings.WORKER_QUEUES = ["check"]
    monkeypatch.setattr(requests, "PATIENCE_SECONDS", 0.2)

    with pytest.raises(signer.SignerUnavailable, match="No worker that signs"):
        requests.signature_of(key=key, data=SUMS)

    assert not SignatureRequest.objects.exists()
    vault.unlock()
    make_signature(job_id=Job.objects.get(kind=requests.JOB).pk)
    vault.lock()
    assert Job.objects.get(kind=requests.JOB).state == "succeeded"


def test_a_worker_that_signs_asks_nobody(transactional_db, key):
    vault.unlock()
    assert requests.signature_of(key=key, data=SUMS)
    vault.lock()

    assert not Job.objects.filter(kind=requests.JOB).exists()
