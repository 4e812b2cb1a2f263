"""The rows that jobs work on, filled in by registry_site/wiring.py. A page of jobs asks once per source."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from apps.admin_base.listing import searched
from apps.jobs.models import Job


@dataclass(frozen=True, slots=True)
class Source:
    """The targets of some kinds of jobs: `rows` with what their names need, `matching` a search word."""

    rows: Callable[[], QuerySet[Any]]
    matching: Callable[[str], Q]


sources: dict[str, Source] = {}  # by the kind of the job


def attach(jobs: Iterable[Job]) -> list[Job]:
    """Set `row` on each job, None if it is gone. One query per source."""
    found = list(jobs)
    wanted: dict[Source, set[int]] = {}
    for job in found:
        if job.kind in sources:
            wanted.setdefault(sources[job.kind], set()).add(job.target)
    rows = {source: source.rows().in_bulk(targets) for source, targets in wanted.items()}
    for job in found:
        source = sources.get(job.kind)
        job.row = rows[source].get(job.target) if source else None
    return found


def search_condition(word: str) -> Q:
    """Match jobs by the number of their target, their kind, a whole request id, or an address or its beginning."""
    number = word.removeprefix("#")
    by_target = Q(target=int(number)) if number.isdecimal() and len(number) < 19 else Q()  # noqa: PLR2004  # fits 64 bits
    return by_target or Q(kind=word) | Q(request_id=word) | matching(word)


def matching(word: str) -> Q:
    """Match jobs by their target, for example by its address or the beginning of it."""
    found = Q(pk__in=[])
    for source in set(sources.values()):
        kinds = [kind for kind, registered in sources.items() if registered is source]
        found |= Q(kind__in=kinds, target__in=searched(source.rows(), source.matching(word)).order_by().values("pk"))
    return found
