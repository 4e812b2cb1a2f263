"""Signs what others check without Larder: the root manifest of a copy, and the root of a bundle.

A signing worker alone opens the keys of the registry (D27). Its half reads a payload and writes an envelope.
"""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from apps.contrib.copy.bundle.contents import SIGNED
from apps.contrib.copy.bundle.models import Bundle
from apps.contrib.copy.models import Root
from apps.contrib.copy.tree.layout import PAYLOAD_TYPE
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.lib.errors import Unavailable
from apps.signing import statement_keys, vault
from apps.signing.models import StatementKey

BUNDLE = "sign-bundle"
# A worker takes about a second.
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.2


def sign_root(claim: Claim) -> None:
    """Make the envelope of the newest root. A root that changed meanwhile is signed by the next job."""
    root = Root.objects.filter(pk=claim.target, envelope=b"").only("sequence", "payload").first()
    if root is not None and root.payload:
        same = Root.objects.filter(pk=root.pk, sequence=root.sequence)
        _sign(claim, PAYLOAD_TYPE, root.payload, same, lambda _: {})


def sign_bundle(claim: Claim) -> None:
    """Make the envelope of a bundle: the first signature stays."""
    unsigned = Bundle.objects.filter(pk=claim.target, is_own=True, envelope=None)
    if (bundle := unsigned.only("payload").first()) is not None:
        _sign(claim, SIGNED, bundle.payload, unsigned, lambda key: {"key_id": key.key_id})


def _sign(
    claim: Claim,
    kind: str,
    payload: bytes | memoryview,
    rows: QuerySet[Any],
    more: Callable[[StatementKey], dict[str, str]],
) -> None:
    """Store what the active key signs. Safe to repeat."""
    if claim.exhausted:
        return
    try:
        key, envelope = statement_keys.sign(kind, bytes(payload))
    except vault.SignerUnavailable as away:
        raise Outage(str(away)) from away
    with transaction.atomic():
        claim.guard()
        statement_keys.require_active(key)
        rows.update(envelope=envelope, **more(key))


def require_signed(bundle: Bundle) -> bytes:
    """Return the envelope once a worker has signed the saved bundle. Raises Unavailable."""
    queue.enqueue_once(BUNDLE, target=bundle.pk, created_by_id=bundle.started_by_id)
    deadline = monotonic() + PATIENCE_SECONDS
    while bundle.envelope is None:
        if monotonic() > deadline:
            raise Unavailable(
                f"No signing worker has signed the bundle within {PATIENCE_SECONDS:.0f} s.",
                hint="Start one with LARDER_WORKER_QUEUES=sign, and create the bundle again.",
            )
        sleep(LOOK_SECONDS)
        bundle.refresh_from_db(fields=["envelope", "key_id"])
    return bytes(bundle.envelope)
