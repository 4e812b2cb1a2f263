"""Reading the stored bytes of a release again, to see whether they are still those that were published."""

import hashlib
from enum import StrEnum

import structlog
from django.db import IntegrityError, transaction

from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs import queue
from apps.jobs.claims import Claim
from apps.lib.errors import Conflict
from apps.releases.models import Release, State

JOB = "verify-release"

log = structlog.get_logger("larder.releases")


class Outcome(StrEnum):
    SOUND = "sound"
    DAMAGED = "damaged"
    MISSING = "missing"


def request(release: Release, *, actor_id: int | None) -> None:
    """Queue the reading; a worker does it. Raises Conflict where there are no bytes, or one is at work on them."""
    if release.state != State.PUBLISHED:
        raise Conflict(f"{release} is {release.state}: only a published version has stored bytes.")
    try:
        with transaction.atomic():
            queue.enqueue(JOB, target=release.pk, created_by_id=actor_id)
    except IntegrityError:
        raise Conflict(f"{release} is being verified already.") from None


def run(claim: Claim) -> None:
    """Write down what was found, as an event: a release that is no longer what it was is for people to judge."""
    release = Release.objects.select_related("namespace").filter(pk=claim.target, state=State.PUBLISHED).first()
    if release is None or claim.exhausted:
        return
    found, outcome = _read(release)
    with transaction.atomic():
        claim.guard()
        record(
            Event.RELEASE_VERIFIED,
            actor_id=None,
            subject=str(release),
            release=release.pk,
            outcome=outcome.value,
            expected=release.digest,
            found=found,
        )
    say = log.info if outcome == Outcome.SOUND else log.error
    say("bytes_verified", release=str(release), outcome=outcome.value, digest=release.digest, found=found)


def _read(release: Release) -> tuple[str, Outcome]:
    seen = hashlib.sha256()
    try:
        for chunk in store.read(release.digest):
            seen.update(chunk)
    except store.Missing:
        return "", Outcome.MISSING
    found = seen.hexdigest()
    return found, Outcome.SOUND if found == release.digest else Outcome.DAMAGED
