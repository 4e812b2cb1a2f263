"""Remove a published version for good (D9): its rows in one transaction, its bytes by a worker afterwards.

The ledger's entry and the release as a tombstone stay: the number is never used again (D5).
"""

from collections.abc import Callable, Collection
from functools import partial

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import queue
from apps.jobs.claims import Claim, Outage
from apps.lib.errors import Conflict
from apps.releases.lifecycle import release_blobs
from apps.releases.lifecycle.verbs import checked_reason, notified
from apps.releases.models import WORKING, Release, ReleaseQuerySet, State
from apps.releases.publishing.transitions import move

JOB = "purge-blob"
# What rooms above keep about a release and a purge removes, in its transaction.
droppers: tuple[Callable[[Release], None], ...] = ()  # by registry_site/wiring.py

log = structlog.get_logger("larder.releases")


@people_only("purge a version")
@transaction.atomic
def purge(*, release: Release, actor: Viewer, reason: str, people: Collection[int] = ()) -> None:
    """Turn the release into a tombstone and queue the removal of its bytes. Raises Invalid, Conflict.

    A quarantine stays on the tombstone, so that other releases with the same bytes stay blocked. `people`: as in verbs.
    """
    reason = checked_reason(reason)
    if release.state == State.PURGED:
        raise Conflict(release.removal, hint="There is nothing left to purge.")
    changes = {"lifecycle_reason": reason, "lifecycle_at": timezone.now(), "lifecycle_by": actor.user}
    move(release, State.PUBLISHED, to=State.PURGED, lifecycle_replacement="", **changes)
    detail = {"reason": reason, "digest": release.digest} | notified(people)
    actor.record(Event.RELEASE_PURGED, subject=str(release), release=release.pk, **detail)
    for drop in droppers:
        drop(release)
    queue.enqueue(JOB, target=release.pk, created_by_id=actor.user_id)


def remove_later(release: Release) -> None:
    """Queue the removal of a tombstone's bytes again, for bytes that were stored during the purge."""
    queue.enqueue_once(JOB, target=release.pk, created_by_id=None)  # a job that is queued already sees them


def run(claim: Claim) -> None:
    """Remove the bytes in a worker, unless another release or a repository has the same. Safe to repeat."""
    release = Release.objects.select_related("namespace").get(pk=claim.target)
    if claim.exhausted:
        log.error("purge_gave_up", release=str(release), digest=release.digest)
        return
    kept = [digest for digest in release_blobs.blobs_of(release) if not remove(release, digest, claim)]
    for digest in kept:
        is_kept = _others(release, digest).filter(state=State.PUBLISHED).exists() or store.has_foreign_key(digest)
        if not is_kept:
            # The upload may still be rejected, and then nobody would remove the bytes.
            raise Outage("an upload of the same bytes is in progress")
    with transaction.atomic():
        claim.guard()
        record(
            Event.RELEASE_BYTES_REMOVED,
            actor_id=None,
            subject=str(release),
            release=release.pk,
            digest=release.digest,
            removed=not kept,
            kept=kept,
        )
    log.info("purged", release=str(release), digest=release.digest, kept=len(kept))


def remove(release: Release, digest: str, claim: Claim) -> bool:
    """Remove one blob of a tombstone; return False if another release needs it and it stays."""
    wanted = partial(_is_wanted, release, digest, claim)
    return store.remove(digest, is_wanted=wanted, instead_of=release_blobs.referenced_by_release)


def _is_wanted(release: Release, digest: str, claim: Claim) -> bool:
    """Return whether another release is or may be published with the same bytes, after a last check of the claim."""
    with transaction.atomic():
        claim.guard()
        return _others(release, digest).filter(state__in=[*WORKING, State.PUBLISHED]).exists()


def _others(release: Release, digest: str) -> ReleaseQuerySet:
    return Release.objects.containing(digest).exclude(pk=release.pk)
