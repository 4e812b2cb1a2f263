"""Have waiting tags published, a few at a time: 300 tags of one repository must not keep others from their turn."""

from typing import Any

from django.db import IntegrityError, transaction

from apps.jobs import queue
from apps.jobs.models import WORKING, Job
from apps.sources import locking
from apps.sources.models import COOLING_DOWN, GitRepository, Tag, Verdict

PUBLISH_JOB = "publish-git-tag"
MAX_QUEUED = 8  # of one repository
# The columns of a tag that waits for its first, or another, try.
AGAIN: dict[str, Any] = {"verdict": Verdict.WAITING, "code": "", "reason": "", "tries": 0}


def queue_waiting(repository: GitRepository, *, without: Tag | None = None) -> int:
    """Queue the next tags that wait, as far as there is room; return how many. The caller has locked the repository."""
    waiting = Tag.objects.filter(repository=repository, verdict=Verdict.WAITING).exclude(code=COOLING_DOWN)
    if without is not None:
        waiting = waiting.exclude(pk=without.pk)
    working = Job.objects.filter(kind=PUBLISH_JOB, state__in=WORKING)
    theirs = Tag.objects.filter(repository=repository)
    room = MAX_QUEUED - working.filter(target__in=theirs.values("pk")).count()
    if room <= 0:
        return 0
    # The oldest versions first: the guard compares each with the one before it.
    following = waiting.exclude(pk__in=working.values("target")).order_by("sort_key", "pk")
    return sum(enqueue_publish(number) for number in following.values_list("pk", flat=True)[:room])


def queue_forgotten() -> int:
    """Queue what waits although no job of its repository does: a worker died between two tags. Return how many.

    A repository whose server is away waits for the next listing that succeeds.
    """
    rows = GitRepository.objects.filter(ended_at=None, suspended_at=None, failed_at=None, tags__verdict=Verdict.WAITING)
    return sum(
        _queue_locked(number) for number in rows.exclude(started_at=None).values_list("pk", flat=True).distinct()
    )


def enqueue_publish(number: int, *, created_by_id: int | None = None) -> bool:
    try:
        with transaction.atomic():
            queue.enqueue(PUBLISH_JOB, target=number, created_by_id=created_by_id)
    except IntegrityError:
        return False  # it is queued already
    return True


def _queue_locked(number: int) -> int:
    with transaction.atomic():
        row = locking.working(number)
        return queue_waiting(row) if row else 0
