"""The publish pipeline and the steps that every kind shares (D4, D5).

A kind composes its own tuple of steps. Every step may run twice, and every write to the database passes the claim's
guard, so that a worker that lost its lease changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

import structlog
from django.db import transaction
from django.utils import timezone

from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.blobs import store
from apps.jobs.claims import Claim
from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import Reason
from apps.lib.process import metrics, traces
from apps.releases import cooldown
from apps.releases.models import READY, WORKING, Release, State, Stored
from apps.releases.origin.models import Approval, Decision
from apps.releases.publishing import ledger, staging, transitions
from apps.releases.publishing.fault_injection import fault_point

log = structlog.get_logger("larder.releases")

GIVEN_UP = Reason(
    code="gave_up",
    found="all attempts to check this archive failed",
    expected="a verdict",
    hint="Upload it again under the same number; if it fails again, ask an operator for the job's log.",
)


F = TypeVar("F")
# What follows a publication in its transaction, filled in by registry_site/wiring.py.
afterwards: tuple[Callable[[Release], None], ...] = ()


@dataclass(slots=True)
class Work(Generic[F]):
    """One attempt at one release. A kind's steps leave their results for later steps in `findings`."""

    claim: Claim
    release: Release
    findings: F
    # What the worker noticed, kept with the release however it ends.
    notes: dict[str, Any] = field(default_factory=dict)
    # Where the archive lies that is checked and stored: the upload itself, or what it was repacked to.
    archive_key: str = ""


class Questions(Exception):
    """The check needs a person's confirmation. Each question is a Reason whose code is confirmed.

    `patient`: the release waits for the answer even if a script has sent it.
    """

    def __init__(self, reasons: Sequence[Reason], *, patient: bool = False) -> None:
        super().__init__("; ".join(reason.code for reason in reasons))
        self.reasons = list(reasons)
        self.patient = patient


Step = Callable[[Work[F]], None]


def points(steps: Sequence[Step[Any]]) -> list[str]:
    """The fault points of a pipeline, in order: tests kill a worker at each."""
    return [f"{when}:{step.__name__}" for step in steps for when in ("before", "after")]


def run(claim: Claim, steps: Sequence[Step[F]], findings: F) -> None:
    release = Release.objects.select_related("namespace").get(pk=claim.target)
    work = Work(claim, release, findings)
    with structlog.contextvars.bound_contextvars(release_id=release.pk):
        if release.state in READY and claim.exhausted:
            transitions.fail(release, GIVEN_UP, claim=claim)
        elif release.state in READY:
            try:
                _walk(work, steps)
            except Questions as asked:
                # Hold the release if a person is watching; a script is mostly refused, with a hint how to confirm.
                if work.release.asks or asked.patient:
                    transitions.put_on_hold(work.release, asked.reasons, claim=work.claim, notes=work.notes)
                else:
                    transitions.reject(work.release, asked.reasons, claim=work.claim, notes=work.notes)
            except Refusal as refusal:
                if any(reason.code == "unreadable" for reason in refusal.reasons):
                    log.error("unforeseen_archive", release=str(release))  # noqa: TRY400  # a defect of our reader
                transitions.reject(release, refusal.reasons, claim=claim, notes=work.notes)
        # It ended now, or in an attempt that died before it cleaned.
        if release.state not in WORKING:
            clean(work)
            metrics.publishes.labels(release.kind, release.state).inc()
            begun = _begun(release)
            if release.state == State.PUBLISHED and release.published_at and begun:
                duration = (release.published_at - begun).total_seconds()
                metrics.publish_duration.labels(release.kind).observe(max(0.0, duration))


def _begun(release: Release) -> datetime | None:
    """When Larder could begin: how long people take to approve is no duration of its own."""
    approved = Approval.objects.filter(release=release, decision=Decision.APPROVED).first()
    return approved.decided_at if approved else release.received_at


def _walk(work: Work[F], steps: Sequence[Step[F]]) -> None:
    for step in steps:
        fault_point(f"before:{step.__name__}", work.release)
        timed = metrics.publish_step_duration.labels(work.release.kind, step.__name__).time()
        with timed, traces.span(f"step {step.__name__}", kind=work.release.kind):
            step(work)
        log.info("step", step=step.__name__, release=str(work.release))
        fault_point(f"after:{step.__name__}", work.release)
        if work.release.state == State.AWAITING_APPROVAL:
            return  # an approval begins again


def take_up(work: Work[Any]) -> None:
    """received → checking; again after a worker died in the middle of it, or of signing."""
    with transaction.atomic():
        work.claim.guard()
        transitions.move(
            work.release,
            *READY,
            to=State.CHECKING,
            checking_at=work.release.checking_at or timezone.now(),
        )


def record_checked(work: Work[Any], *, digest: str, size: int) -> None:
    """Write down what the worker found the bytes to be, and which process found it."""
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
            provenance={**work.release.provenance, "checked_by": transitions.this_process()},
        )


def move_on(work: Work[Any], state: State) -> None:
    """checking → `state`, for kinds that have more to do than to check."""
    with transaction.atomic():
        work.claim.guard()
        transitions.move(work.release, State.CHECKING, to=state)


def record_signed(work: Work[Any]) -> None:
    """Record that the signature is valid, and which process verified it."""
    with transaction.atomic():
        work.claim.guard()
        transitions.move(
            work.release,
            State.CHECKING,
            State.SIGNING,
            to=State(work.release.state),
            signed_at=timezone.now(),
            provenance={**work.release.provenance, "signed_by": transitions.this_process()},
        )


def store_archive(work: Work[Any]) -> None:
    """Staging → content-addressed storage, create only."""
    release = work.release
    assert release.size is not None  # noqa: S101  # the check before this step has set it
    if isinstance(release.source, Stored):
        store.require_ready(release.digest, size=release.size)
    else:
        store.store_staged(work.archive_key or release.staging_key, digest=release.digest, size=release.size)


def enter_ledger(work: Work[Any]) -> None:
    try:
        ledger.enter(work.release, digest=work.release.digest)
    except ledger.LedgerConflict as conflict:
        log.error("ledger_conflict", release=str(work.release), known=conflict.known)  # noqa: TRY400  # an alarm, no crash
        reason = Reason(
            code="ledger_conflict",
            found=str(conflict),
            expected="an unpublished version number",
            hint=conflict.hint,
        )
        raise Refusal([reason]) from None


def finalise(work: Work[F], describe: Callable[[Work[F]], None], catalogue: Callable[[Work[F]], None]) -> None:
    """One transaction: the kind's own rows, the state, the audit row. From its commit on, readers see the version.

    `catalogue` comes last because the lists must count the version as published.
    """
    with transaction.atomic():
        work.claim.guard()
        describe(work)
        now = timezone.now()
        ready = (State.CHECKING, State.SIGNING)
        held = cooldown.begins(work.release.namespace, now)
        transitions.move(work.release, *ready, to=State.PUBLISHED, published_at=now, finished_at=now, visible_at=held)
        record(
            Event.RELEASE_PUBLISHED,
            actor_id=work.release.created_by_id,
            token_id=work.release.token_id,
            subject=str(work.release),
            release=work.release.pk,
            digest=work.release.digest,
            **{"visible_at": held.isoformat()} if held else {},
        )
        catalogue(work)
        for follow in afterwards:
            follow(work.release)


def clean(work: Work[Any]) -> None:
    """Drop the staged bytes."""
    staging.discard(work.release)
