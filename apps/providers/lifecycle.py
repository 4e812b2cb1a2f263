"""The lifecycle of a provider version (D9); steps and permissions are in `releases.lifecycle.actions`.

Verifying it again reads its stored bytes, and checks its signature with only the public key.
"""

from collections.abc import Collection, Iterator
from itertools import groupby

from django.db.models import Q

from apps.blobs import store
from apps.jobs.claims import Claim
from apps.lib.addresses import ProviderAddress
from apps.lib.process import parallel
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
    yield from signatures_of([release])[release.pk]


def signatures_of(releases: Collection[Release]) -> dict[int, list[Finding]]:
    """Check the served signatures by the rules of clients: expired and retired keys count, revoked ones do not.

    Return findings by release. The caller has reported missing bytes already.
    """
    found: dict[int, list[Finding]] = {release.pk: [] for release in releases}
    versions = list(ProviderVersion.objects.filter(release__in=found).select_related("key").order_by("key", "pk"))
    for key, some in groupby(zip(versions, parallel.each(_signed, versions), strict=True), lambda one: one[0].key):
        whole = [(version, signed) for version, signed in some if signed is not None]
        problems = verifying.problems(key, [signed for _, signed in whole])
        for (version, _), problem in zip(whole, problems, strict=True):
            outcome, said = Outcome.SOUND, key.fingerprint
            if problem is not None:
                outcome, said = Outcome.REFUSED, problem.reason.found
            finding = Finding(f"signature by {key}", version.signature_digest, outcome, said)
            found[version.release_id].append(finding)
    return found


def _signed(version: ProviderVersion) -> tuple[bytes, bytes] | None:
    """Return the stored sums and their signature; None if one of them is missing."""
    try:
        sums, signature = (b"".join(store.read_unverified(d)) for d in (version.sums_digest, version.signature_digest))
    except store.Missing:
        return None
    return sums, signature


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
