"""Signatures for workers that have no key-encryption key: they ask a signing worker, by a row and a job (D12).

So the workers that read hostile archives cannot open a private key. The message names only the row, and only sums
(SHA256SUMS) are signed.
"""

import time
from datetime import timedelta

import structlog
from django.db import connection, transaction
from django.db.models.functions import Now

from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.lib.archives.rules.outcome import Refusal
from apps.lib.errors import Conflict, RegistryError
from apps.lib.formats import sums
from apps.signing import signer, vault
from apps.signing.models import SignatureRequest, SigningKey

JOB = "make-signature"
# A signature takes 0.1 s. A publication that was not answered waits as it does for an outage, and asks again.
PATIENCE_SECONDS = 20.0
_POLL_SECONDS = 0.05
# Whoever asked has been killed.
_FORGOTTEN = timedelta(hours=1)

log = structlog.get_logger("larder.signing")


def signature_of(*, key: SigningKey, data: bytes) -> bytes:
    """Return a signature as `signer.sign` does, here or from a worker that signs. Raises the same errors."""
    if vault.is_for_this_host():
        return signer.sign(key=key, data=data)
    with transaction.atomic():
        asked = SignatureRequest.objects.create(key=key, data=data)
        queue.enqueue(JOB, target=asked.pk, created_by_id=None)
    try:
        return _answer_to(asked)
    finally:
        SignatureRequest.objects.filter(pk=asked.pk).delete()


def _answer_to(asked: SignatureRequest) -> bytes:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        asked.refresh_from_db(fields=["signature", "problem"])
        connection.close_if_unusable_or_obsolete()  # a pooled one goes back while this waits
        if asked.problem:
            raise _error_of(asked)
        if asked.signature is not None:
            return bytes(asked.signature)
    raise vault.SignerUnavailable(
        f"No worker that signs has answered within {PATIENCE_SECONDS:.0f} s.",
        hint="Start one, with sign in LARDER_WORKER_QUEUES.",
    )


def run(claim: Claim) -> None:
    """The signing worker's half. A request that nobody waits for any more is gone."""
    SignatureRequest.objects.filter(made_at__lt=Now() - _FORGOTTEN).delete()
    asked = SignatureRequest.objects.select_related("key__namespace").filter(pk=claim.target, signature=None).first()
    if asked is None or claim.exhausted:
        return
    changes: dict[str, object]
    try:
        sums.parse(bytes(asked.data))
        changes = {"signature": signer.sign(key=asked.key, data=bytes(asked.data))}
    except Refusal:
        log.error("not_sums", key=asked.key.key_id, request=asked.pk)  # noqa: TRY400  # somebody wrote the row by hand
        changes = {"problem": Conflict.code}
    except vault.SignerUnavailable as away:
        raise Outage(str(away)) from away
    except (Conflict, signer.SealBroken, signer.SigningFailed) as error:
        changes = {"problem": error.code}
    with transaction.atomic():
        claim.guard()
        SignatureRequest.objects.filter(pk=asked.pk).update(**changes)


def _error_of(asked: SignatureRequest) -> RegistryError:
    """Return the error that `signer.sign` raised in the other worker, whose log says more."""
    if asked.problem == signer.SigningFailed.code:
        return signer.SigningFailed("sign", "the worker that signs could not: see its log")
    if asked.problem == signer.SealBroken.code:
        return signer.SealBroken(f"The private key of {asked.key} is damaged or was replaced.")
    return Conflict(f"The key {asked.key} cannot sign.")
