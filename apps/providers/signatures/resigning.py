"""Sign a published version again: a new signature over the same SHA256SUMS (D11).

For a key that has expired or is no longer trusted. Either the registry signs with the namespace's newest key, in a
worker, or an owner uploads the publisher's signature. Packages and sums stay unchanged, so lock files remain valid; the
old signature stays readable, because links to it are in use.
"""

import uuid
from collections.abc import Callable, Iterable

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import queue
from apps.jobs.claims import Claim
from apps.jobs.models import WORKING, Job
from apps.lib.addresses import ProviderAddress
from apps.lib.archives.sandboxed import Refusal
from apps.lib.digests import counted
from apps.lib.errors import Conflict
from apps.providers import lifecycle
from apps.providers.drafting import assembling
from apps.providers.models import FormerSignature, ProviderVersion, Signing
from apps.providers.signatures import recomputing, requests
from apps.releases.lifecycle import purging, release_blobs
from apps.releases.models import Release, State
from apps.signing import keys, verifying
from apps.signing.models import SigningKey
from apps.signing.models import State as KeyState

JOB = recomputing.RESIGN_JOB

# The admin calls it too.
PERMISSION = "providers.resign_providerversion"

log = structlog.get_logger("larder.providers")


def resign(*, viewer: Viewer, address: ProviderAddress, version: str) -> Release:
    """Queue a signing, as only workers open private keys. For owners. Raises Conflict if it is impossible."""
    row = _signed_version(viewer, address, version)
    namespace = row.release.namespace
    if _is_vouched_for(row):
        raise Conflict(
            f"{row} is signed by its publisher with the active key {row.key}.",
            hint="Send a signature by another of the publisher's keys, or retire or revoke this key first.",
        )
    newest = keys.signing_key_of(namespace)
    if newest is None:
        raise Conflict(
            f"{namespace} has no active key in this registry.", hint="Generate one on its signing keys page."
        )
    if newest.pk == row.key_id:
        raise Conflict(
            f"{row} is already signed with {newest}, the newest active key of {namespace} in this registry.",
            hint="Generate another key first, on the namespace's signing keys page.",
        )
    release = row.release
    with transaction.atomic():
        if not queue.enqueue_once(JOB, target=release.pk, created_by_id=viewer.user_id):
            raise Conflict(f"{release} is already being signed again.", hint="Wait for the worker.")
        _record(Event.RELEASE_RESIGN_REQUESTED, release, viewer, key=newest.fingerprint)
    return release


def accept_signature(
    *, viewer: Viewer, address: ProviderAddress, version: str, open_body: Callable[[], Iterable[bytes]]
) -> tuple[ProviderVersion, bool]:
    """Serve the publisher's signature over the published sums, made with a registered, active key. For owners.

    Return the version, and False if it has a signature by this key already: then it stays unchanged.

    Raises BadSignature and TooLarge for the signature, Conflict if the version or the key ended meanwhile.
    """
    row = _signed_version(viewer, address, version)
    data = b"".join(counted(open_body(), limit=verifying.MAX_SIGNATURE_BYTES, what="The signature"))
    try:
        sums = _sums_of(row)
    except (store.Missing, store.Damaged):
        raise store.DamagedInStorage(row.sums_digest) from None
    with slots.slot_of(viewer):  # gpg
        key = verifying.verify(data=sums, signature=data, keys=keys.publisher_keys_of(row.release.namespace))
    if key.pk == row.key_id:
        return row, False
    settled = assembling.Settled(Signing.PUBLISHER, key, sums, data)
    release_blobs.record_blobs(row.release, assembling.names_of(row.release, settled))
    assembling.store_small(f"resign-{uuid.uuid4().hex}.sig", data)
    try:
        with transaction.atomic():
            is_replaced = _serve(row, settled, actor=viewer)
    except Refusal as refusal:
        reason = refusal.reasons[0]
        raise Conflict(f"Found {reason.found}, expected {reason.expected}.", hint=reason.hint) from None
    row.release.refresh_from_db(fields=["state"])
    if not is_replaced:
        if row.release.state == State.PURGED:
            purging.remove_later(row.release)  # the purge may have run before these bytes were stored
        raise Conflict(f"{row} was changed in the meantime.", hint="Check the version's page, then send it again.")
    row.refresh_from_db()
    return row, True


def is_under_way(release: Release) -> bool:
    return Job.objects.filter(kind=JOB, target=release.pk, state__in=WORKING).exists()


def newer_key_of(version: ProviderVersion) -> SigningKey | None:
    """The registry's key that would sign now; None if the publisher's key is good or no key is newer."""
    newest = None if _is_vouched_for(version) else keys.signing_key_of(version.release.namespace)
    return newest if newest is not None and newest.pk != version.key_id else None


def run(claim: Claim) -> None:
    """The worker's half. Safe to repeat: a version signed by the newest key stays unchanged."""
    rows = ProviderVersion.objects.select_related("key", "release__namespace", "provider__namespace")
    version = rows.filter(release=claim.target, release__state=State.PUBLISHED).first()
    if version is None:
        return
    if claim.exhausted:
        log.error("resign_gave_up", release=str(version.release))
        return
    key = newer_key_of(version)
    if key is None:
        return
    settled = assembling.Settled(Signing.REGISTRY, key, _sums_of(version), None)
    try:
        settled = requests.signed(version.release, settled, claim=claim)
    except Refusal as refusal:
        codes = [reason.code for reason in refusal.reasons]
        log.error("resign_refused", release=str(version.release), reasons=codes)  # noqa: TRY400  # the audit says why
        return
    # Record, store, then serve: after the commit, documents name the new signature.
    assert settled.signature is not None  # noqa: S101  # requests.signed has made and verified it
    release_blobs.record_blobs(version.release, assembling.names_of(version.release, settled), claim=claim)
    assembling.store_small(f"resign-{claim.job_id}-{claim.fence}.sig", settled.signature)
    with transaction.atomic():
        claim.guard()
        is_replaced = _serve(version, settled, actor=None)
    if not is_replaced:  # purged meanwhile, and the purge may have run before these bytes were stored
        purging.remove(version.release, settled.signature_digest, claim)


def _serve(version: ProviderVersion, settled: assembling.Settled, *, actor: Viewer | None) -> bool:
    """Name the new signature in documents; call in a transaction. Raises Refusal if its key has ended.

    False if another signature was faster, or the version was purged.
    """
    assembling.require_usable(settled.key, now=timezone.now())
    same = ProviderVersion.objects.filter(pk=version.pk, signature_digest=version.signature_digest)
    changes = {"key": settled.key, "signature_digest": settled.signature_digest, "signing": settled.signing}
    if not same.filter(release__state=State.PUBLISHED).update(**changes):
        return False
    FormerSignature.objects.get_or_create(
        version=version, digest=version.signature_digest, defaults={"key": version.key}
    )
    former = FormerSignature.objects.filter(version=version).values_list("digest", flat=True)
    release_blobs.forget_others(
        version.release, assembling.signature_name(version.release), [settled.signature_digest, *former]
    )
    _record(
        Event.RELEASE_RESIGNED,
        version.release,
        actor,
        before={"key": version.key.fingerprint, "signature": version.signature_digest},
        after={"key": settled.key.fingerprint, "signature": settled.signature_digest},
    )
    log.info("resigned", release=str(version.release), key=settled.key.fingerprint)
    return True


def _signed_version(viewer: Viewer, address: ProviderAddress, version: str) -> ProviderVersion:
    """Asks the gate: for owners. Raises Conflict for a tombstone."""
    release = lifecycle.release_of(viewer, address, version, need=Role.OWNER, permission=PERMISSION)
    if release.state == State.PURGED:
        raise Conflict(release.removal, hint="There is nothing left to sign.")
    return ProviderVersion.objects.select_related("key", "release__namespace").get(release=release)


def _sums_of(version: ProviderVersion) -> bytes:
    sums = b"".join(store.read_unverified(version.sums_digest))
    if assembling.digest_of(sums) != version.sums_digest:
        raise store.Damaged(f"The stored sums of {version} differ from those published, so they cannot be signed.")
    return sums


def _is_vouched_for(version: ProviderVersion) -> bool:
    """The publisher's key is good: the registry's signature must not replace a better proof."""
    is_good = version.key.state == KeyState.ACTIVE and not version.key.is_expired
    return version.signing == Signing.PUBLISHER and is_good


def _record(kind: Event, release: Release, actor: Viewer | None, **detail: object) -> None:
    record(
        kind,
        actor_id=actor.user_id if actor else None,
        token_id=actor.token_id if actor else None,
        subject=str(release),
        release=release.pk,
        **detail,
    )
