"""Ask for the registry's signature of a release, and answer (D12).

A request names a release and a key. It carries no bytes: the signing worker computes what it signs from the stored
packages (recomputing.py), so a forged row makes it sign only packages that a worker has checked. A host whose workers
both check and sign answers its own requests, by the same code.
"""

import hashlib
import time
from dataclasses import replace
from datetime import timedelta

import structlog
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.jobs.models import Job
from apps.jobs.models import State as JobState
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import Conflict, Reason
from apps.lib.process import metrics
from apps.providers.drafting.assembling import Settled, key_ended
from apps.providers.signatures import recomputing
from apps.providers.signatures.recomputing import Refused
from apps.releases.models import Kind, Release
from apps.signing import keys, signer, vault
from apps.signing.models import Custody, SignatureRequest, SigningKey

JOB = "sign-release"
# Of a Larder whose requests had the bytes to sign and no release. It waits until it is replaced.
FORMER_JOB = "make-signature"
# For a worker to begin. A publication without an answer waits as it does for an outage, and asks again.
PATIENCE_SECONDS = 20.0
_POLL_SECONDS = 0.05
# Whoever asked has been killed.
_FORGOTTEN = timedelta(hours=1)

log = structlog.get_logger("larder.signing")

# At 0 from the start: an alert on the increase of a count does not see the first one of a label that appears with it.
for why in recomputing.WHY:
    metrics.signing_refusals.labels(why)


def signed(release: Release, settled: Settled, *, claim: Claim) -> Settled:
    """With the registry's own signature. The packages must be stored. Without a signing worker the job waits."""
    try:
        return replace(settled, signature=signature_of(release, key=settled.key, claim=claim))
    except signer.SignerUnavailable as away:
        raise Outage(str(away)) from away
    except Refused as refused:
        reason = Reason(
            code="signing_refused",
            found=f"that the registry rejected the signing request: {refused.found}",
            expected="the checked packages, in storage and in the database",
            hint="Publish again; if it happens again, ask an operator to read the audit log",
        )
        raise Refusal([key_ended(settled.key) if refused.why == "key_ended" else reason]) from None


def signature_of(release: Release, *, key: SigningKey, claim: Claim) -> bytes:
    """Return the registry's signature of the release's SHA256SUMS, from this host or from a signing worker.

    Raises Refused, SignerUnavailable, SealBroken, SigningFailed and StorageUnavailable.
    """
    forget(release.pk)
    with transaction.atomic():
        claim.guard()
        asked = SignatureRequest.objects.create(release_id=release.pk, key=key)
        is_here = vault.is_for_this_host()
        job = None if is_here else queue.enqueue(JOB, target=asked.pk, created_by_id=None)
    try:
        if job is None:
            _answer(asked, claim)
        return _answer_to(asked, job)
    finally:
        SignatureRequest.objects.filter(pk=asked.pk).delete()


def forget(release_id: int) -> None:
    """Drop the requests of an attempt that was killed: the next one may find the release in another state."""
    SignatureRequest.objects.filter(release_id=release_id).delete()


def _answer_to(asked: SignatureRequest, job: Job | None) -> bytes:
    """Wait as long as a worker works on it: reading large packages takes minutes."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        asked.refresh_from_db(fields=["signature", "problem"])
        if asked.problem:
            # The error of the other worker, whose log says more.
            if asked.problem == signer.SigningFailed.code:
                raise signer.SigningFailed("sign", "the signing worker failed: see its log")
            if asked.problem == signer.SealBroken.code:
                raise signer.SealBroken(f"The private key of {asked.key} is damaged or was replaced.")
            raise Refused(asked.problem)
        if asked.signature is not None:
            return bytes(asked.signature)
        if time.monotonic() > deadline:
            at_work = Job.objects.filter(state=JobState.RUNNING, lease_until__gt=Now())
            if job is None or not at_work.filter(pk=job.pk).exists():
                raise vault.SignerUnavailable(
                    f"No signing worker answered within {PATIENCE_SECONDS:.0f} s.",
                    hint="Start one with LARDER_WORKER_QUEUES=sign.",
                )
            deadline += 1
        connection.close_if_unusable_or_obsolete()  # a pooled one goes back while this waits
        time.sleep(_POLL_SECONDS)


# --- The signing worker -----------------------------------------------------------------------------------------------


def run(claim: Claim) -> None:
    """Answer one request. A request that is no longer waited for is gone."""
    SignatureRequest.objects.filter(made_at__lt=Now() - _FORGOTTEN).delete()
    rows = SignatureRequest.objects.select_related("key__namespace")
    asked = rows.filter(pk=claim.target, signature=None, problem="").first()
    if asked is None or claim.exhausted:
        return
    try:
        _answer(asked, claim)
    except Refused:
        pass  # answered, counted and recorded
    except vault.SignerUnavailable as away:
        raise Outage(str(away)) from away
    except (signer.SealBroken, signer.SigningFailed) as error:
        with transaction.atomic():
            claim.guard()
            SignatureRequest.objects.filter(pk=asked.pk).update(problem=error.code)


def _answer(asked: SignatureRequest, claim: Claim) -> None:
    """Sign or refuse, with an audit row in the transaction of the answer: no signature leaves without one.

    Raises what `signature_of` raises.
    """
    rows = Release.objects.select_related("namespace").filter(kind=Kind.PROVIDER)
    release = rows.filter(pk=asked.release_id).first() if asked.release_id is not None else None
    try:
        data = _sums_to_sign(asked, release)
        try:
            signature = signer.sign(key=asked.key, data=data)
        except Conflict:
            raise Refused("key_ended") from None
    except Refused as refused:
        _record_refusal(asked, release, refused, claim)
        raise
    with transaction.atomic():
        claim.guard()
        if not SignatureRequest.objects.filter(pk=asked.pk).update(signature=signature):
            return  # nobody waits for it, so nobody gets it
        record(
            Event.RELEASE_SIGNED,
            actor_id=None,
            subject=str(release),
            release=asked.release_id,
            key=asked.key_id,
            fingerprint=asked.key.fingerprint,
            digest=hashlib.sha256(data).hexdigest(),
            signature=hashlib.sha256(signature).hexdigest(),
        )
    log.info("release_signed", release=str(release), key=asked.key.fingerprint)
    metrics.signatures.labels(asked.key.algorithm).inc()


def _sums_to_sign(asked: SignatureRequest, release: Release | None) -> bytes:
    if asked.release_id is None:
        raise Refused("no_release")
    if release is None:
        raise Refused("state")
    key = asked.key
    if key.namespace_id != release.namespace_id or key.custody != Custody.REGISTRY:
        raise Refused("key")
    if not keys.namespace_keys(release.namespace).usable(timezone.now()).filter(pk=key.pk).exists():
        raise Refused("key_ended")
    return recomputing.sums_of(release)


def _record_refusal(asked: SignatureRequest, release: Release | None, refused: Refused, claim: Claim) -> None:
    with transaction.atomic():
        claim.guard()
        # A former Larder waits on: it takes any answer for the end of its key.
        problem = "" if refused.why == "no_release" else refused.why
        if not SignatureRequest.objects.filter(pk=asked.pk).update(problem=problem):
            return  # the release has moved on, and its request was dropped
        record(
            Event.RELEASE_SIGNING_REFUSED,
            actor_id=None,
            subject=str(release or asked.key.namespace),
            release=asked.release_id,
            key=asked.key_id,
            fingerprint=asked.key.fingerprint,
            reason=refused.why,
        )
    log.error("signing_refused", reason=refused.why, release=str(release), key=asked.key.key_id, request=asked.pk)
    metrics.signing_refusals.labels(refused.why).inc()
