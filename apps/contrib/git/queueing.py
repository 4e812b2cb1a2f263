"""Have waiting tags published: those that a person waits for at once, the rest of an import a few at a time.

`jobs.turns` has the rule; the list of what waits is the tags. An import is a source of work in bulk, and what its
fetches lead to, checks and statements, belongs to it.
"""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import BreakingChanges
from apps.contrib.git import row_locks
from apps.contrib.git.models import COOLING_DOWN, GitRepository, Precedence, Tag, Verdict
from apps.jobs import queue, turns
from apps.jobs.models import WORKING, Job
from apps.jobs.queues import SIGN, queue_of

PUBLISH_JOB = "publish-git-tag"
SOURCE = "git"
# The columns of a tag that waits for its first, or another, try.
AGAIN: dict[str, Any] = {"verdict": Verdict.WAITING, "code": "", "reason": "", "tries": 0}


def queue_waiting(repository: GitRepository) -> int:
    """Queue the next tags that wait, as far as there is room; return how many. The caller has locked the repository."""
    return _queue(repository, Tag.objects.all())


def _queue(repository: GitRepository, tags: QuerySet[Tag]) -> int:
    waiting = tags.filter(repository=repository, verdict=Verdict.WAITING).exclude(code=COOLING_DOWN)
    working = Job.objects.filter(kind=PUBLISH_JOB, state__in=WORKING)
    following = waiting.exclude(pk__in=working.values("target"))
    # What failed before comes last: it may fail again, and takes its time.
    awaited = following.filter(precedence=Precedence.AWAITED).order_by("tries", "sort_key", "pk")
    # Then the oldest versions first: the guard compares each with the one before it. Where it may hold or refuse a
    # version, it does so for the newest one too, which therefore comes last.
    decides = repository.namespace.breaking_changes in (BreakingChanges.ASK, BreakingChanges.REFUSE)
    order = ("tries", "sort_key", "pk") if decides else ("tries", "precedence", "sort_key", "pk")
    imported = following.exclude(precedence=Precedence.AWAITED).order_by(*order)
    theirs = Tag.objects.filter(repository=repository)
    pushed = working.awaited().filter(target__in=theirs.values("pk")).count()
    queued = 0
    for rows, source, room in (
        (awaited, "", turns.WINDOW - pushed),
        (imported, source_of(repository.pk), turns.WINDOW - _under_way(repository.pk)),
    ):
        numbers = rows.values_list("pk", flat=True)[: max(0, room)]
        queued += sum(enqueue_publish(number, repository, source=source) for number in numbers)
    return queued


def source_of(repository_id: int) -> str:
    return f"{SOURCE} {repository_id}"


def _under_way(repository_id: int) -> int:
    """Return how many tags of an import are being fetched or checked.

    Not what is signed: a release never waits for its statement, so an import does not either.
    """
    return sum(queue_of(kind) != SIGN for kind in turns.kinds_under_way(source_of(repository_id)))


def queue_more(repository_id: int) -> int:
    """Queue the next tags, of a repository that can be read; return how many.

    Those that failed wait for the next listing, which says whether they are still there.
    """
    with transaction.atomic():
        row = row_locks.working(repository_id)
        if row is None or row.started_at is None or row.failed_at is not None:
            return 0
        return _queue(row, Tag.objects.filter(tries=0))


def queue_forgotten() -> int:
    """Queue what waits although no job of its repository does: a worker died between two tags. Return how many.

    A repository whose server is away waits for the next listing that succeeds.
    """
    rows = GitRepository.objects.filter(ended_at=None, suspended_at=None, failed_at=None, tags__verdict=Verdict.WAITING)
    return sum(queue_more(number) for number in rows.exclude(started_at=None).values_list("pk", flat=True).distinct())


def enqueue_publish(
    number: int, repository: GitRepository, *, source: str = "", created_by_id: int | None = None
) -> bool:
    share = f"namespace {repository.namespace_id}"
    return queue.enqueue_once(PUBLISH_JOB, target=number, created_by_id=created_by_id, source=source, share=share)
