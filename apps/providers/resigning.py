"""Signing a published version anew: another signature, by the namespace's newest key, over the same SHA256SUMS (D11).

For a key that has expired, or must not be trusted any more. Packages and sums stay what they are, so lock files hold;
the old signature stays readable, because links to it are out.
"""

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.access import Viewer
from apps.accounts.models import Role
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import queue
from apps.jobs.claims import Claim
from apps.jobs.models import WORKING, Job
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import Conflict
from apps.providers import assembling, lifecycle
from apps.providers.models import FormerSignature, ProviderVersion, Signing
from apps.releases import keeping, purging
from apps.releases.models import Release, State
from apps.releases.tombstones import sentence_of
from apps.signing import keys
from apps.signing.models import SigningKey

JOB = "resign-provider"

# The admin asks for it too.
PERMISSION = "providers.resign_providerversion"

log = structlog.get_logger("larder.providers")


def resign(*, viewer: Viewer, address: ProviderAddress, version: str) -> Release:
    """Ask a worker for it: only there private keys are opened. Owners. Raises Conflict where it cannot be done."""
    release = lifecycle.release_of(viewer, address, version, need=Role.OWNER, permission=PERMISSION)
    if release.state == State.PURGED:
        raise Conflict(sentence_of(release), mend="There is nothing left to sign.")
    key = _key_for(ProviderVersion.objects.select_related("key", "release__namespace").get(release=release))
    try:
        with transaction.atomic():
            queue.enqueue(JOB, target=release.pk, created_by_id=viewer.user_id)
            _record(Event.RELEASE_RESIGN_REQUESTED, release, viewer, key=key.fingerprint)
    except IntegrityError:
        raise Conflict(f"{release} is being signed anew already.", mend="Wait for the worker.") from None
    return release


def is_under_way(release: Release) -> bool:
    return Job.objects.filter(kind=JOB, target=release.pk, state__in=WORKING).exists()


def newer_key_of(version: ProviderVersion) -> SigningKey | None:
    """The key that would sign it now; None where it is the publisher's to sign, or there is no newer one."""
    newest = keys.signing_key_of(version.release.namespace) if version.signing == Signing.REGISTRY else None
    return newest if newest is not None and newest.pk != version.key_id else None


def run(claim: Claim) -> None:
    """The worker's half. Safe to repeat: a version that bears the newest key's signature is left as it is."""
    rows = ProviderVersion.objects.select_related("key", "release__namespace", "provider__namespace")
    version = rows.filter(release=claim.target, release__state=State.PUBLISHED).first()
    if version is None:
        return
    if claim.exhausted:
        log.error("resign-gave-up", release=str(version.release))
        return
    key = newer_key_of(version)
    if key is None:
        return
    sums = b"".join(store.read_unverified(version.sums_digest))
    if assembling.digest_of(sums) != version.sums_digest:
        raise store.Damaged(f"The stored sums of {version} are not those that were published: nothing signs them.")
    settled = assembling.Settled(Signing.REGISTRY, key, sums, None)
    _replace(claim, version, assembling.signed(settled))


def _replace(claim: Claim, version: ProviderVersion, settled: assembling.Settled) -> None:
    """Noted, stored, and only then served: from the commit on, documents name the new signature."""
    release, digest, signature = version.release, settled.signature_digest, settled.signature
    assert signature is not None  # noqa: S101  # assembling.signed has made and verified it
    keeping.note(release, assembling.names_of(release, settled), claim=claim)
    assembling.store_small(f"resign-{claim.job_id}-{claim.fence}.sig", signature)
    with transaction.atomic():
        claim.guard()
        assembling.require_usable(settled.key, now=timezone.now())
        same = ProviderVersion.objects.filter(pk=version.pk, signature_digest=version.signature_digest)
        is_replaced = same.filter(release__state=State.PUBLISHED).update(key=settled.key, signature_digest=digest)
        if is_replaced:
            FormerSignature.objects.create(version=version, key=version.key, digest=version.signature_digest)
            _record(
                Event.RELEASE_RESIGNED,
                release,
                None,
                before={"key": version.key.fingerprint, "signature": version.signature_digest},
                after={"key": settled.key.fingerprint, "signature": digest},
            )
    if is_replaced:
        log.info("resigned", release=str(release), key=settled.key.fingerprint)
    else:  # it was purged meanwhile, and whoever removed its bytes may have been faster than this
        purging.remove(release, digest, claim)


def _key_for(version: ProviderVersion) -> SigningKey:
    namespace = version.release.namespace
    if version.signing == Signing.PUBLISHER:
        raise Conflict(
            f"{version} is signed by its publisher, with the key {version.key}: the registry cannot sign it anew.",
            mend="Its signature says that the publisher made it, and only they hold that key. Publish another version, "
            "signed with another key.",
        )
    newest = keys.signing_key_of(namespace)
    if newest is None:
        raise Conflict(
            f"{namespace} has no active key that the registry holds.", mend="Have one made on the page of its keys."
        )
    if newest.pk == version.key_id:
        raise Conflict(
            f"{version} is signed with {newest} already, the newest active key of {namespace} that the registry holds.",
            mend="Have another key made first, on the page of the namespace's keys.",
        )
    return newest


def _record(kind: Event, release: Release, actor: Viewer | None, **detail: object) -> None:
    record(
        kind,
        actor_id=actor.user_id if actor else None,
        token_id=actor.token_id if actor else None,
        subject=str(release),
        release=release.pk,
        **detail,
    )
