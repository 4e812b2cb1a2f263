"""The release document, for the API and the release page (D24)."""

from datetime import datetime
from typing import Any

from django.conf import settings

from apps.jobs.models import Job
from apps.lib.errors import Reason
from apps.releases.models import Kind, Release, State

# Kinds with a signing step.
SIGNED = (Kind.PROVIDER,)


def release_document(release: Release, *, with_names: bool = True) -> dict[str, Any]:
    """Return state, steps, reasons, digests and lifecycle of a release, with people only if `with_names`.

    A step is `waiting`, `running`, `done` or `failed`; times are RFC 3339 in UTC or null.
    """
    job = Job.objects.filter(target=release.pk, kind=f"publish-{release.kind}").order_by("-pk").first()
    return {
        "id": str(release.public_id),
        "kind": release.kind,
        "namespace": release.namespace.name,
        "name": release.name,
        "version": release.version,
        "state": release.state,
        "steps": steps(release),
        "reasons": _said(release.reasons),
        "questions": _said(release.questions),
        "held_until": moment(release.held_until),
        "folder": release.folder,
        "breaking_reason": release.breaking_reason,
        "notes": release.notes,
        "digest": f"sha256:{release.digest}" if release.state == State.PUBLISHED else None,
        "size": release.size,
        "uploaded_digest": f"sha256:{release.uploaded_digest}" if release.uploaded_digest else None,
        "uploaded_size": release.uploaded_size,
        "attempt": job.attempts if job else 0,
        "attempts": settings.JOB_ATTEMPTS,
        "created_at": moment(release.created_at),
        "checking_at": moment(release.checking_at),
        "published_at": moment(release.published_at),
        "lifecycle": lifecycle_document(release, with_names=with_names),
        "quarantined": release.quarantined_at is not None,
    }


def lifecycle_document(release: Release, *, with_names: bool) -> dict[str, str | None]:
    """Return the lifecycle; for a tombstone with the reason of its removal."""
    by = release.lifecycle_by.username if with_names and release.lifecycle_by else None
    return {
        "state": "purged" if release.state == State.PURGED else release.lifecycle,
        "reason": release.lifecycle_reason,
        "replacement": release.lifecycle_replacement,
        "at": moment(release.lifecycle_at),
        "by": by,
    }


def _said(reasons: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return reasons or questions, each with its `sentence`."""
    return [{**reason.as_dict(), "sentence": reason.sentence} for reason in map(Reason.from_dict, reasons)]


def steps(release: Release) -> list[dict[str, str | None]]:
    """Return received → checked → (signed) → published. The first step without a time is the current one."""
    times = {"received": release.received_at, "checked": release.checked_at}
    if release.kind in SIGNED:
        times["signed"] = release.signed_at
    times["published"] = release.published_at
    current = next((name for name, at in times.items() if at is None), None)
    # A received release waits for a worker, a reservation for its bytes, a held one for its publisher's answer.
    is_idle = release.state in (State.RECEIVED, State.HELD) or bool(release.ticket_digest)
    is_ended = release.state in (State.REJECTED, State.FAILED)
    now = "failed" if is_ended else "waiting" if is_idle else "running"
    return [
        {"name": name, "state": "done" if at else now if name == current else "waiting", "at": moment(at)}
        for name, at in times.items()
    ]


def moment(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
