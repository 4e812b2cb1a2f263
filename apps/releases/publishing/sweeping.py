"""End what is otherwise left behind: dead uploads, uploads without permission, cancelled jobs, questions without an
answer, releases that were never approved.
"""

from collections.abc import Callable
from contextlib import suppress

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import reauthorising
from apps.jobs.models import WORKING as JOB_WORKING
from apps.jobs.models import Job
from apps.lib.errors import Reason
from apps.releases.models import READY, WORKING, Release, State
from apps.releases.origin.models import Decision, Participant
from apps.releases.publishing import approving, resuming, staging
from apps.releases.publishing.reserving import NO_LONGER_ALLOWED, UNFINISHED, UPLOAD_LEASE
from apps.releases.publishing.transitions import Moved, reject

BATCH_SIZE = 500
CANCELLED = Reason(
    code="job_cancelled",
    found="a check that an operator cancelled",
    expected="a verdict",
    hint="Ask an operator why, or upload it again; the version number is free.",
)
UNANSWERED = Reason(
    code="unanswered",
    found="questions about the archive that were not answered in time",
    expected="an answer on the release's page",
    hint="Upload it again and answer them; the version number is free.",
)


def sweep() -> int:
    """Reject these releases, drop their staged bytes and unfinished uploads; return how many.

    Marks of identities are forgotten once no decision about their release is open.
    """
    Participant.objects.filter(user=None).exclude(release__state__in=WORKING).delete()
    lapsed = Release.objects.filter(state=State.RECEIVING, receiving_until__lt=timezone.now())
    at_work = Job.objects.filter(target=OuterRef("pk"), kind__startswith="publish-", state__in=JOB_WORKING)
    # The job row is written in the transaction that makes a release `received`, so without one it was cancelled.
    orphaned = Release.objects.filter(~Exists(at_work), state__in=READY)
    unanswered = Release.objects.filter(state=State.HELD, held_until__lt=timezone.now())
    late = {"approval__decision": Decision.WAITING, "approval__until__lt": timezone.now()}
    unapproved = Release.objects.filter(state=State.AWAITING_APPROVAL, **late)
    ended = _end(lapsed, UNFINISHED) + _end(orphaned, CANCELLED) + _end(unanswered, UNANSWERED)
    ended += _end(unapproved, approving.UNAPPROVED)
    if not approving.conditions:
        _resume_all()
    # Only waiting tickets and drafts: an upload in progress renews for less, and asks the gate itself.
    waiting = Release.objects.filter(state=State.RECEIVING, receiving_until__gt=timezone.now() + UPLOAD_LEASE)
    return ended + _end(waiting, NO_LONGER_ALLOWED, unless=_may_go_on) + resuming.sweep()


def _resume_all() -> None:
    """Let releases continue that waited for what a room asked that is no longer there."""
    waiting = Release.objects.filter(state=State.AWAITING_APPROVAL).exclude(approval__decision=Decision.WAITING)
    for release in waiting.order_by("pk")[:BATCH_SIZE]:
        # Its job has not ended yet, or it has just been approved.
        with suppress(IntegrityError, Moved), transaction.atomic():
            approving.resume(release)


def _may_go_on(release: Release) -> bool:
    """Ask the gate. A ticket is bound to its session; a draft takes any session or token of its person."""
    session = release.session_digest if release.ticket_digest else ""
    return reauthorising.is_allowed(
        Viewer(release.created_by, session=session), release.namespace, only_name=release.name
    )


def _end(releases: QuerySet[Release], reason: Reason, *, unless: Callable[[Release], bool] = lambda _: False) -> int:
    ended = 0
    for release in releases.select_related("namespace", "created_by").order_by("pk")[:BATCH_SIZE]:
        if unless(release):
            continue
        try:
            reject(release, [reason], sources=[State(release.state)])
        except Moved:
            continue  # it continues
        staging.discard(release)
        ended += 1
    return ended
