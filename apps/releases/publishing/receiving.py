"""Receive the bytes of a reserved release: stream them to staging, count and hash them, accept them with their job."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.reauthorising import REFUSALS
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import database_availability, queue
from apps.lib.digests import DigestMismatch, Tally, counted
from apps.lib.errors import Conflict, Invalid, Reason, TooLarge
from apps.releases.models import Release, State
from apps.releases.publishing import quotas, staging
from apps.releases.publishing.fault_injection import fault_point
from apps.releases.publishing.reserving import (
    NO_LONGER_ALLOWED,
    UNFINISHED,
    UPLOAD_LEASE,
    StillArriving,
    VersionTaken,
    refusal_of_maker,
)
from apps.releases.publishing.transitions import Moved, move, reject

RENEWAL_SECONDS = 10.0
# How long the second of two simultaneous uploads waits for the first.
SETTLE_SECONDS = 5.0


def receive(
    *, release: Release, chunks: Iterable[bytes], limit: int, setting: str, job: str, sha256: str = ""
) -> Release:
    """Stream the body to staging in flat memory, then write state, digest, size and job row in one transaction (D4).

    `sha256`: what the bytes must have, if the caller knows it. An error leaves no bytes behind and the version number
    free. Raises DigestMismatch, and what the gate raises if the publisher may no longer publish after the last byte.
    """
    try:
        body = counted(chunks, limit=limit, what="The archive", setting=setting)
        staged = store.stage(release.staging_key, _renewing(release, body))
        database_availability.release_connection()
        if staged.size == 0:
            raise Invalid("The upload is empty.", hint="Send the archive itself as the body of the request.")
        if sha256 and staged.digest != sha256:
            raise DigestMismatch(staged.digest, sha256)
    except BaseException as error:
        _abandon(release, error)
        raise
    fault_point("after:receive", release)
    try:
        with transaction.atomic():
            refused = refusal_of_maker(release)
            if refused is None:
                accept(release=release, digest=staged.digest, size=staged.size, job=job)
        if refused is not None:
            raise refused
    except Moved:
        store.discard_staged(release.staging_key)
        raise
    except (quotas.QuotaFull, *REFUSALS, *database_availability.AWAY) as error:
        _abandon(release, error)
        raise
    fault_point("after:accept", release)
    return release


def accept(*, release: Release, digest: str, size: int, job: str, **changes: Any) -> None:
    """Move the release to `received` and queue its job. Raises Moved, and QuotaFull now that the size is known.

    The caller asks the gate again, in the same transaction.
    """
    with transaction.atomic():
        quotas.check(release.namespace, more_bytes=size, more_versions=1, newcomer=release)
        move(
            release,
            State.RECEIVING,
            to=State.RECEIVED,
            uploaded_digest=digest,
            uploaded_size=size,
            received_at=timezone.now(),
            receiving_until=None,
            **changes,
        )
        record(
            Event.RELEASE_RECEIVED,
            actor_id=release.created_by_id,
            token_id=release.token_id,
            subject=str(release),
            release=release.pk,
            digest=digest,
            size=size,
        )
        share = f"namespace {release.namespace_id}"
        queue.enqueue(job, target=release.pk, created_by_id=release.created_by_id, share=share)


def _renewing(release: Release, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Renew the reservation while bytes flow, so that it only lapses if the process dies."""
    renewed = time.monotonic()
    for chunk in chunks:
        if time.monotonic() - renewed > RENEWAL_SECONDS:
            renewed = time.monotonic()
            # A short outage of the database costs no upload: `accept` checks again at the end.
            database_availability.try_once(lambda: _renew(release))
        yield chunk


def _renew(release: Release) -> None:
    """Extend the reservation. Raises Moved, and early what the gate would raise at the end of a long upload."""
    if refused := refusal_of_maker(release):
        raise refused
    reserved = Release.objects.filter(pk=release.pk, state=State.RECEIVING)
    if reserved.update(receiving_until=timezone.now() + UPLOAD_LEASE) != 1:
        raise Moved(f"{release} was cancelled while it was being uploaded.")


def _abandon(release: Release, error: BaseException) -> None:
    reason = NO_LONGER_ALLOWED if isinstance(error, REFUSALS) else UNFINISHED
    if isinstance(error, TooLarge | Invalid):
        code = "upload_too_large" if isinstance(error, TooLarge) else "upload_invalid"
        reason = Reason(
            code="quota_full" if isinstance(error, quotas.QuotaFull) else code,
            found=str(error).rstrip("."),
            expected="a complete archive within the limits",
            hint=error.hint or UNFINISHED.hint,
        )

    def give_up() -> None:
        # If the interrupted commit did succeed, the release is received and stays.
        with suppress(Moved, store.StorageUnavailable):
            reject(release, [reason], sources=[State.RECEIVING], actor_id=release.created_by_id)
            staging.discard(release)

    # If the database stays away, the reservation lapses.
    database_availability.run_when_back(give_up, seconds=UPLOAD_LEASE.total_seconds())


def same_bytes(taken: VersionTaken, chunks: Iterable[bytes], *, viewer: Viewer, limit: int, setting: str) -> Release:
    """Hash the body and return the release that has the version number if its upload was the same (D5).

    Raises Conflict with both digests otherwise, and StillArriving while the viewer's own upload is in progress.
    """
    database_availability.release_connection()
    sent = Tally.of(counted(chunks, limit=limit, what="The archive", setting=setting)).hexdigest
    other = _settled(taken.taken_by)
    if other.state in (State.REJECTED, State.FAILED):
        raise Conflict(f"Another upload of {other} has just finished as {other.state}.", hint="Send yours again.")
    if other.state == State.RECEIVING and other.created_by_id == viewer.user_id:
        raise StillArriving(other)
    if other.state == State.RECEIVING:
        raise Conflict(
            f"{other} is being uploaded by someone else right now.",
            hint="Try again in a minute, or publish your archive under another version number.",
        )
    if other.uploaded_digest != sent:
        raise Conflict(
            f"{other} is already {other.state} with the archive sha256:{other.uploaded_digest}; "
            f"you sent sha256:{sent}.",
            hint="A published version never changes: publish your archive under another version number.",
        )
    return other


def _settled(other: Release) -> Release:
    deadline = time.monotonic() + SETTLE_SECONDS
    while other.state == State.RECEIVING and not other.ticket_digest and time.monotonic() < deadline:
        database_availability.release_connection()
        time.sleep(0.1)
        other.refresh_from_db(fields=["state", "uploaded_digest", "ticket_digest", "receiving_until"])
    return other
