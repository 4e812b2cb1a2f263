"""The publish pipeline and the steps that every kind shares (D4, D5).

A kind composes its own tuple of steps. Every step may run twice, and every write to the database passes the claim's
guard, so that a worker that lost its lease changes nothing.
"""

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs.claims import Claim
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import Reason
from apps.releases.models import READY, WORKING, Release, State, Stored
from apps.releases.publishing import ledger, staging, transitions
from apps.releases.publishing.fault_injection import fault_point

log = structlog.get_logger("larder.releases")

GIVEN_UP = Reason(
    code="gave_up",
    found="every attempt to check this archive ended before it came to a verdict",
    expected="a verdict",
    hint="Upload it again under the same number; if it happens again, ask an operator for the job's log.",
)


@dataclass(slots=True)
class Work:
    """One attempt at one release. `findings` passes results of the kind's check to its finalise."""

    claim: Claim
    release: Release
    findings: dict[str, Any] = field(default_factory=dict)
    # The worker's remarks, stored with the release however it ends.
    notes: dict[str, Any] = field(default_factory=dict)
    # Where the archive lies that is checked and stored: the upload itself, or what it was repacked to.
    archive_key: str = ""


class Questions(Exception):
    """The check needs a person's confirmation. Each question is a Reason whose code is confirmed."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        super().__init__("; ".join(reason.code for reason in reasons))
        self.reasons = list(reasons)


Step = Callable[[Work], None]


def points(steps: Sequence[Step]) -> list[str]:
    """Return the fault points of a pipeline, in order: tests kill a worker at each."""
    return [f"{when}:{step.__name__}" for step in steps for when in ("before", "after")]


def run(claim: Claim, steps: Sequence[Step]) -> None:
    release = Release.objects.select_related("namespace").get(pk=claim.target)
    work = Work(claim, release)
    if release.state in READY and claim.exhausted:
        transitions.fail(release, GIVEN_UP, claim=claim)
    elif release.state in READY:
        try:
            _walk(work, steps)
        except Questions as asked:
            _ask(work, asked.reasons)
        except Refusal as refusal:
            if any(reason.code == "unreadable" for reason in refusal.reasons):
                log.error("unforeseen_archive", release=str(release))  # noqa: TRY400  # a defect of our reader
            transitions.reject(release, refusal.reasons, claim=claim, notes=work.notes)
    # It ended now, or in an attempt that died before it cleaned.
    if release.state not in WORKING:
        clean(work)


def _ask(work: Work, questions: Sequence[Reason]) -> None:
    """Hold the release if somebody watches; reject a script's, with reasons that say how to confirm."""
    if work.release.asks:
        transitions.put_on_hold(work.release, questions, claim=work.claim, notes=work.notes)
    else:
        transitions.reject(work.release, questions, claim=work.claim, notes=work.notes)


def _walk(work: Work, steps: Sequence[Step]) -> None:
    for step in steps:
        fault_point(f"before:{step.__name__}", work.release)
        step(work)
        log.info("step", step=step.__name__, release=str(work.release))
        fault_point(f"after:{step.__name__}", work.release)


def take_up(work: Work) -> None:
    """received → checking; also after a worker died while checking or signing."""
    with transaction.atomic():
        work.claim.guard()
        transitions.move(
            work.release,
            *READY,
            to=State.CHECKING,
            checking_at=work.release.checking_at or timezone.now(),
        )


def record_checked(work: Work, *, digest: str, size: int) -> None:
    """Record digest and size of the checked bytes, and which process checked them."""
    worker = f"{platform.node()}:{os.getpid()}"
    with transaction.atomic():
        work.claim.guard()
        transitions.move(
            work.release,
            State.CHECKING,
            to=State.CHECKING,
            digest=digest,
            size=size,
            checked_at=timezone.now(),
            notes=work.notes,
            provenance={**work.release.provenance, "checked_by": worker},
        )


def move_on(work: Work, state: State) -> None:
    """checking → `state`, for kinds with further steps."""
    with transaction.atomic():
        work.claim.guard()
        transitions.move(work.release, State.CHECKING, to=state)


def record_signed(work: Work) -> None:
    """Record that the signature is valid, and which process verified it."""
    worker = f"{platform.node()}:{os.getpid()}"
    with transaction.atomic():
        work.claim.guard()
        transitions.move(
            work.release,
            State.CHECKING,
            State.SIGNING,
            to=State(work.release.state),
            signed_at=timezone.now(),
            provenance={**work.release.provenance, "signed_by": worker},
        )


def store_archive(work: Work) -> None:
    """Staging → content-addressed storage, create only."""
    release = work.release
    assert release.size is not None  # noqa: S101  # the check before this step has set it
    if isinstance(release.source, Stored):
        store.require_ready(release.digest, size=release.size)
    else:
        store.store_staged(work.archive_key or release.staging_key, digest=release.digest, size=release.size)


def enter_ledger(work: Work) -> None:
    try:
        ledger.enter(work.release, digest=work.release.digest)
    except ledger.LedgerConflict as conflict:
        log.error("ledger_conflict", release=str(work.release), known=conflict.known)  # noqa: TRY400  # an alarm, no crash
        reason = Reason(
            code="ledger_conflict",
            found=str(conflict),
            expected="a version number that was never published",
            hint=conflict.hint,
        )
        raise Refusal([reason]) from None


def finalise(work: Work, describe: Callable[[Work], None], catalogue: Callable[[Work], None]) -> None:
    """Write the kind's own rows, the state and the audit row in one transaction, which makes the version visible.

    `catalogue` comes last because the lists must count the version as published.
    """
    with transaction.atomic():
        work.claim.guard()
        describe(work)
        now = timezone.now()
        ready = (State.CHECKING, State.SIGNING)
        transitions.move(work.release, *ready, to=State.PUBLISHED, published_at=now, finished_at=now)
        record(
            Event.RELEASE_PUBLISHED,
            actor_id=work.release.created_by_id,
            token_id=work.release.token_id,
            subject=str(work.release),
            release=work.release.pk,
            digest=work.release.digest,
        )
        catalogue(work)


def clean(work: Work) -> None:
    """Drop the staged bytes."""
    staging.discard(work.release)
