"""Verify a published provider version again: its stored bytes, and its signature with only the public key."""

from collections.abc import Iterator

from apps.blobs import store
from apps.jobs.claims import Claim
from apps.providers.models import ProviderVersion
from apps.releases.lifecycle import verification
from apps.releases.lifecycle.verification import Finding, Outcome
from apps.releases.models import Release
from apps.signing.verifying import BadSignature, verify

JOB = "verify-provider"


def run(claim: Claim) -> None:
    verification.run(claim, further=signature_of)


def signature_of(release: Release) -> Iterator[Finding]:
    """Check the served signature by the rules of clients: expired and retired keys count, revoked ones do not.

    The caller has reported missing bytes already.
    """
    version = ProviderVersion.objects.select_related("key").get(release=release)
    name, digest = f"signature by {version.key}", version.signature_digest
    try:
        sums, signature = (b"".join(store.read_unverified(one)) for one in (version.sums_digest, digest))
    except store.Missing:
        return
    try:
        verify(data=sums, signature=signature, keys=[version.key], was_accepted=True)
    except BadSignature as refused:
        yield Finding(name, digest, Outcome.REFUSED, refused.reason.found)
    else:
        yield Finding(name, digest, Outcome.SOUND, version.key.fingerprint)
