"""The lifecycle of a provider version (D9); steps and permissions are in `releases.lifecycle.actions`.

Verifying it again reads its stored bytes, and checks its signature with only the public key.
"""

from collections.abc import Iterator

from django.db.models import Q

from apps.blobs import store
from apps.jobs.claims import Claim
from apps.lib.addresses import ProviderAddress
from apps.providers import catalogue, reading
from apps.providers.models import Provider, ProviderVersion
from apps.releases.lifecycle import verification
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.lifecycle.verification import Finding, Outcome
from apps.releases.models import Release
from apps.signing import verifying

VERIFY_JOB = "verify-provider"


def verify_again(claim: Claim) -> None:
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
        verifying.verify(data=sums, signature=signature, keys=[version.key], was_accepted=True)
    except verifying.BadSignature as refused:
        yield Finding(name, digest, Outcome.REFUSED, refused.reason.found)
    else:
        yield Finding(name, digest, Outcome.SOUND, version.key.fingerprint)


class ProviderActions(VersionActions[ProviderAddress]):
    address_type = ProviderAddress
    verify_job = VERIFY_JOB

    def address_of(self, release: Release) -> ProviderAddress:
        return ProviderAddress(release.namespace.name, release.name)

    def coordinate_of(self, address: ProviderAddress, version: str) -> Q:
        return reading.coordinate_of(address, version)

    def refresh(self, release: Release) -> None:
        catalogue.refresh(_provider_of(release))

    def drop(self, release: Release) -> None:
        """Also drops packages and former signatures; the release's blobs still name their bytes."""
        ProviderVersion.objects.filter(release=release).delete()

    def default_version(self, release: Release) -> ProviderVersion | None:
        return catalogue.default_version(_provider_of(release))


def _provider_of(release: Release) -> Provider:
    return Provider.objects.get(namespace=release.namespace, type=release.name)


ACTIONS = ProviderActions()

deprecate, yank, quarantine, restore = ACTIONS.deprecate, ACTIONS.yank, ACTIONS.quarantine, ACTIONS.restore
purge, purge_here, verify, release_of = ACTIONS.purge, ACTIONS.purge_here, ACTIONS.verify, ACTIONS.release_of
