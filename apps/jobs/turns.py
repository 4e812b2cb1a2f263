"""Turns of jobs, so that none starves behind work that was created in bulk.

What a person or a hook waits for goes first. Of work in bulk, each `source` has at most WINDOW jobs rung for; the rest
are rows that wait, and `queue.go_on` rings for the next when one ends. What a job leads to belongs to its source.
Namespaces take turns: each has a share, and a job's `turn` is one later than the last of its share, or the one that
it is now. A worker that was rung takes the job whose turn it is, among those of its queue that were rung for.
"""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

from celery import current_app
from django.db.models import Max, Min, Q
from django.db.models.functions import Now

from apps.jobs import queues
from apps.jobs.models import Job, State

# Of one source: queued and running, with what they lead to.
WINDOW = 8
# More than these at once are work in bulk.
FEW = 8


@dataclass(frozen=True, slots=True)
class Running:
    """The source and share that the job of this thread passes on to the jobs that it creates."""

    source: str
    share: str


running: ContextVar[Running | None] = ContextVar("running_job", default=None)
# What to do when work of a source ends, by the first word of its name, filled in by registry_site/wiring.py: lists of
# work that are kept elsewhere than in jobs.
refills: dict[str, Callable[[int], object]] = {}


def source_of(name: str, *, count: int) -> str:
    """Return the source of so many jobs that are created at once: few of them count as awaited by the person who
    asked.
    """
    return name if count > FEW else ""


def room(source: str) -> int:
    """Return for how many more jobs of the source may be rung."""
    return WINDOW - Job.objects.rung().filter(source=source).count()


def kinds_under_way(source: str) -> list[str]:
    """Return the kind of each job of the source that is queued or running, also of those that an outage postponed."""
    rows = (Job.objects.rung(), Job.objects.behind())
    return [kind for row in rows for kind in row.filter(source=source).values_list("kind", flat=True)]


def next_turn(kind: str, source: str, share: str) -> int:
    """Return the turn of a job that is rung for now. One query, of what was rung for."""
    waits = Q(state=State.QUEUED) & (Q(not_before=None) | Q(not_before__lte=Now()))
    rows = Job.objects.rung().filter(kind__in=kinds_beside(kind)).exclude(Q(source="") if source else ~Q(source=""))
    found = rows.aggregate(
        now=Min("turn", filter=waits), last_begun=Max("turn"), own=Max("turn", filter=Q(share=share) & ~Q(share=""))
    )
    now = found["now"] if found["now"] is not None else found["last_begun"] or 0
    return now if found["own"] is None else max(now, found["own"] + 1)


def next_of(works: Iterable[str], kind: str, job_id: int) -> Job | None:
    """Return the job whose turn it is among those that this kind's queue was rung for; this one if none goes before it.

    `works`: the kinds that this process can do.
    """
    columns = ("pk", "source", "turn")
    own = Job.objects.claimable().filter(pk=job_id).only(*columns).first()
    kinds = kinds_beside(kind).intersection(works)
    first = Job.objects.claimable().rung().filter(kind__in=kinds).in_turn().only(*columns).first()
    if own is None or first is None:
        return own or first
    return first if _place(first) < _place(own) else own


def _place(job: Job) -> tuple[bool, int]:
    return bool(job.source), job.turn


def kinds_beside(kind: str) -> frozenset[str]:
    """Return the kinds of jobs that the workers of this kind's queue do in turns."""
    names = current_app.tasks.keys()
    return _kinds_of(queues.queue_of(kind), len(names)) | {kind}


@lru_cache(maxsize=16)
def _kinds_of(queue: str, _tasks: int) -> frozenset[str]:
    """Of so many tasks: there are more once all applications are loaded."""
    return frozenset(name for name in current_app.tasks if queues.queue_of(name) == queue)
