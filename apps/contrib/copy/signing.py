"""Signs the root manifest of a copy: the half of a signing worker, which reads and writes this row alone."""

from django.db import transaction

from apps.contrib.copy.models import Root
from apps.contrib.copy.tree.layout import PAYLOAD_TYPE
from apps.jobs.claims import Claim, Outage
from apps.signing import statement_keys, vault


def run(claim: Claim) -> None:
    """Make the envelope of the newest root. Safe to repeat: a root that changed meanwhile is signed by the next job."""
    root = Root.objects.filter(pk=claim.target, envelope=b"").only("sequence", "payload").first()
    if root is None or not root.payload or claim.exhausted:
        return
    try:
        _, envelope = statement_keys.sign(PAYLOAD_TYPE, bytes(root.payload))
    except vault.SignerUnavailable as away:
        raise Outage(str(away)) from away
    with transaction.atomic():
        claim.guard()
        Root.objects.filter(pk=root.pk, sequence=root.sequence).update(envelope=envelope)
