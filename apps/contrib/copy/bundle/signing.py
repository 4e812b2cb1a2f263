"""Have the root of a bundle signed: a job for a signing worker, which alone opens the keys of the registry (D27)."""

from time import monotonic, sleep

from django.db import transaction

from apps.contrib.copy.bundle import contents
from apps.contrib.copy.bundle.models import Bundle
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.lib.errors import Unavailable
from apps.signing import statement_keys, vault

JOB = "sign-bundle"
# A worker takes about a second.
PATIENCE_SECONDS = 60.0
_LOOK_SECONDS = 0.2


def require_signed(bundle: Bundle) -> bytes:
    """Return the envelope once a worker has signed the saved bundle. Raises Unavailable."""
    queue.enqueue_once(JOB, target=bundle.pk, created_by_id=bundle.started_by_id)
    deadline = monotonic() + PATIENCE_SECONDS
    while bundle.envelope is None:
        if monotonic() > deadline:
            raise Unavailable(
                f"No signing worker has signed the bundle within {PATIENCE_SECONDS:.0f} s.",
                hint="Start one with LARDER_WORKER_QUEUES=sign, and create the bundle again.",
            )
        sleep(_LOOK_SECONDS)
        bundle.refresh_from_db(fields=["envelope", "key_id"])
    return bytes(bundle.envelope)


def run(claim: Claim) -> None:
    """The signing worker's half. Safe to repeat: the first signature stays."""
    bundle = Bundle.objects.only("payload").filter(pk=claim.target, is_own=True, envelope=None).first()
    if bundle is None or claim.exhausted:
        return
    try:
        key, envelope = statement_keys.sign(contents.SIGNED, bytes(bundle.payload))
    except vault.SignerUnavailable as away:
        raise Outage(str(away)) from away
    with transaction.atomic():
        claim.guard()
        statement_keys.require_active(key)
        Bundle.objects.filter(pk=bundle.pk, envelope=None).update(envelope=envelope, key_id=key.key_id)
