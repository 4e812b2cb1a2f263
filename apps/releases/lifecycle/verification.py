"""Read the stored bytes of a release again and compare them with what was published."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

import structlog
from django.db import transaction
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs.care import scrub
from apps.jobs import queue
from apps.jobs.claims import Claim
from apps.lib.digests import Tally
from apps.lib.errors import Conflict
from apps.releases.lifecycle import release_blobs
from apps.releases.models import Release, State

JOB = "verify-release"

log = structlog.get_logger("larder.releases")


class Outcome(StrEnum):
    """From good to bad; a release has the worst outcome of its files."""

    SOUND = "sound"
    REFUSED = "refused"  # the bytes are right, but clients refuse them because of an invalid signature
    DAMAGED = "damaged"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one file. `found` is the sha256 of the stored bytes, or words."""

    name: str
    digest: str
    outcome: Outcome
    found: str


def request(release: Release, *, actor: Viewer, job: str = JOB) -> None:
    """Queue a verification. Raises Conflict if the release has no bytes or is being verified."""
    if release.state != State.PUBLISHED:
        raise Conflict(f"{release} is {release.state}: only published versions have stored files.")
    with transaction.atomic():
        if not queue.enqueue_once(job, target=release.pk, created_by_id=actor.user_id):
            raise Conflict(f"{release} is already being verified.")
        actor.record(Event.RELEASE_VERIFY_REQUESTED, subject=str(release), release=release.pk)


def run(claim: Claim, further: Callable[[Release], Iterable[Finding]] = lambda _: ()) -> None:
    """Record the findings on the release and as an event, for people to judge. `further` checks more for a kind."""
    release = Release.objects.select_related("namespace").filter(pk=claim.target, state=State.PUBLISHED).first()
    if release is None or claim.exhausted:
        return
    findings = findings_of(release)
    findings += further(release)
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


def findings_of(release: Release) -> list[Finding]:
    """Read every blob of the release again."""
    blobs = release_blobs.blobs_of(release)
    return judge(blobs, {digest: scrub.read_again(digest) for digest in blobs})


def judge(blobs: Mapping[str, str], found: Mapping[str, Tally | None]) -> list[Finding]:
    """Compare names by digest with what was read of each."""
    findings = []
    for digest, name in blobs.items():
        read = found[digest]
        if read is None:
            findings.append(Finding(name, digest, Outcome.MISSING, "nothing"))
            continue
        outcome = Outcome.SOUND if read.hexdigest == digest else Outcome.DAMAGED
        findings.append(Finding(name, digest, outcome, read.hexdigest))
    return findings
