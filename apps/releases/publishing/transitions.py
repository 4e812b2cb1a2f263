"""The moves of the state machine (D4). Each is one conditional UPDATE, so the second of two changes nothing."""

import os
import platform
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.audit.kinds import Kind as Event
from apps.audit.recorder import record
from apps.jobs.claims import Claim
from apps.lib.errors import Conflict, Reason
from apps.releases.models import WORKING, Release, State


class Moved(Conflict):
    """The release is no longer in the state that this move starts from."""


def this_process() -> str:
    """For the provenance of a release: the host, and the process there."""
    return f"{platform.node()}:{os.getpid()}"


def move(release: Release, *sources: State, to: State, **changes: Any) -> None:
    """Move the row and this object from one of `sources` to `to`, or raise Moved."""
    moved = Release.objects.filter(pk=release.pk, state__in=sources).update(state=to, **changes)
    if moved != 1:
        raise Moved(f"{release} is no longer {' or '.join(sources)}: someone else changed it first. Reload its page.")
    release.state = to
    for name, value in changes.items():
        setattr(release, name, value)


def put_on_hold(release: Release, questions: Sequence[Reason], *, claim: Claim, notes: Mapping[str, Any]) -> None:
    """Stop until the publisher answers; the version number stays reserved."""
    asked = [question.as_dict() for question in questions]
    until = timezone.now() + settings.HELD_LIFETIME
    with transaction.atomic():
        claim.guard()
        move(release, State.CHECKING, to=State.HELD, questions=asked, notes=dict(notes), held_until=until)
        codes = [question.code for question in questions]
        record(Event.RELEASE_HELD, actor_id=None, subject=str(release), release=release.pk, questions=codes)


def reject(
    release: Release,
    reasons: Sequence[Reason],
    *,
    sources: Collection[State] = WORKING,
    claim: Claim | None = None,
    actor_id: int | None = None,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """End the release with reasons that a person can act on, and free its version number. Raises Moved."""
    changes: dict[str, Any] = {"ticket_digest": "", "receiving_until": None, "held_until": None}
    if notes is not None:
        changes["notes"] = dict(notes)
    with transaction.atomic():
        if claim is not None:
            claim.guard()
        found = [reason.as_dict() for reason in reasons]
        move(release, *sources, to=State.REJECTED, reasons=found, finished_at=timezone.now(), **changes)
        codes = [reason.code for reason in reasons]
        record(Event.RELEASE_REJECTED, actor_id=actor_id, subject=str(release), release=release.pk, reasons=codes)


def fail(release: Release, reason: Reason, *, claim: Claim) -> None:
    """Give up after the last attempt: a defect of Larder, or an archive that kills every worker."""
    with transaction.atomic():
        claim.guard()
        move(release, *WORKING, to=State.FAILED, reasons=[reason.as_dict()], finished_at=timezone.now())
        record(Event.RELEASE_FAILED, actor_id=None, subject=str(release), release=release.pk, attempts=claim.attempt)
