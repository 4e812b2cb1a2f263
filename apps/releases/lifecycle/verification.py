"""Reading the stored bytes of a release again, to see whether they are still those that were published."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import scrub
from apps.jobs import queue
from apps.jobs.claims import Claim
from apps.lib.errors import Conflict
from apps.releases.lifecycle import release_blobs
from apps.releases.models import Release, State

JOB = "verify-release"

log = structlog.get_logger("larder.releases")


class Outcome(StrEnum):
    """From good to bad: the worst of all files is what is said of the release."""

    SOUND = "sound"
    REFUSED = "refused"  # the bytes are there, and clients refuse them: a signature that does not stand
    DAMAGED = "damaged"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one file was found to be. `found` is the sha256 of what is there, or words."""

    name: str
    digest: str
    outcome: Outcome
    found: str


def request(release: Release, *, actor: Viewer, job: str = JOB) -> None:
    """Queue the reading; a worker does it. Raises Conflict where there are no bytes, or one is at work on them."""
    if release.state != State.PUBLISHED:
        raise Conflict(f"{release} is {release.state}: only a published version has stored bytes.")
    try:
        with transaction.atomic():
            queue.enqueue(job, target=release.pk, created_by_id=actor.user_id)
            record(
                Event.RELEASE_VERIFY_REQUESTED,
                actor_id=actor.user_id,
                token_id=actor.token_id,
                subject=str(release),
                release=release.pk,
            )
    except IntegrityError:
        raise Conflict(f"{release} is being verified already.") from None


def run(claim: Claim, further: Callable[[Release], Iterable[Finding]] = lambda _: ()) -> None:
    """Write down what was found, as an event: a release that is no longer what it was is for people to judge.

    `further` is what the kind looks into besides.
    """
    release = Release.objects.select_related("namespace").filter(pk=claim.target, state=State.PUBLISHED).first()
    if release is None or claim.exhausted:
        return
    findings = [_read(name, digest) for digest, name in release_blobs.blobs_of(release).items()]
    findings += further(release)
    _record(release, findings, claim)


def _record(release: Release, findings: Sequence[Finding], claim: Claim) -> None:
    outcome = max((one.outcome for one in findings), key=list(Outcome).index)
    unsound = [asdict(one) for one in findings if one.outcome != Outcome.SOUND]
    with transaction.atomic():
        claim.guard()
        Release.objects.filter(pk=release.pk).update(
            verified_at=timezone.now(), verified_as=outcome.value, verified_findings=unsound
        )
        record(
            Event.RELEASE_DAMAGED if unsound else Event.RELEASE_VERIFIED,
            actor_id=None,
            subject=str(release),
            release=release.pk,
            outcome=outcome.value,
            checked=len(findings),
            findings=unsound,
        )
    say = log.error if unsound else log.info
    say("bytes_verified", release=str(release), outcome=outcome.value, findings=unsound)


def _read(name: str, digest: str) -> Finding:
    found = scrub.read_again(digest)
    if found is None:
        return Finding(name, digest, Outcome.MISSING, "nothing")
    return Finding(name, digest, Outcome.SOUND if found.hexdigest == digest else Outcome.DAMAGED, found.hexdigest)
