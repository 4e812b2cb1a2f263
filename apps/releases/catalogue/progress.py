"""The progress of a release, for the API and its page (D24)."""

from typing import Any

from django.conf import settings

from apps.jobs.models import Job
from apps.lib.errors import Reason
from apps.releases.models import Kind, Release, State
from apps.releases.origin.models import Approval, Decision

# Kinds with a signing step.
SIGNED = (Kind.PROVIDER,)


def progress_of(release: Release) -> dict[str, Any]:
    """Return steps, reasons, questions, attempts, and the approval, None if none was asked for.

    The steps are received → checked → (approved) → (signed) → published, each `waiting`, `running`, `done` or `failed`.
    The first without a time is the current one.
    """
    job = Job.objects.filter(target=release.pk, kind=f"publish-{release.kind}").order_by("-pk").first()
    times = {"received": release.received_at, "checked": release.checked_at}
    approval = Approval.objects.filter(release=release).first()
    if approval is not None or (release.is_working and release.namespace.requires_approval):
        is_approved = approval is not None and approval.decision == Decision.APPROVED
        times["approved"] = approval.decided_at if approval is not None and is_approved else None
    if release.kind in SIGNED:
        times["signed"] = release.signed_at
    times["published"] = release.published_at
    current = next((name for name, at in times.items() if at is None), None)
    return {
        "steps": [
            {"name": name, "state": "done" if at else _open_state(release, is_current=name == current), "at": at}
            for name, at in times.items()
        ],
        "reasons": release.refusals(),
        "questions": [Reason.from_dict(question) for question in release.questions],
        "approval": approval,
        "attempt": job.attempts if job else 0,
        "attempts": settings.JOB_ATTEMPTS,
    }


def _open_state(release: Release, *, is_current: bool) -> str:
    if not is_current:
        return "waiting"
    if release.state in (State.REJECTED, State.FAILED):
        return "failed"
    # A received release waits for a worker, a reservation for its bytes, others for a person.
    waiting = (State.RECEIVED, State.HELD, State.AWAITING_APPROVAL)
    is_idle = release.state in waiting or bool(release.ticket_digest)
    return "waiting" if is_idle else "running"
