"""The rows that jobs work on, as rooms above know them (registry_site/wiring.py): one query a source for a page."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from apps.jobs.models import Job


@dataclass(frozen=True, slots=True)
class Source:
    """The rows that jobs of some kinds work on, with all that naming one needs, and how a word finds them."""

    rows: Callable[[], QuerySet[Any]]
    find: Callable[[str], Q]


asked: dict[str, Source] = {}  # by the kind of the job


def attach(jobs: Iterable[Job]) -> list[Job]:
    """Give each job its `row`, None where that is gone: one query for each source."""
    found = list(jobs)
    wanted: dict[Source, set[int]] = {}
    for job in found:
        if job.kind in asked:
            wanted.setdefault(asked[job.kind], set()).add(job.target)
    rows = {source: source.rows().in_bulk(targets) for source, targets in wanted.items()}
    for job in found:
        source = asked.get(job.kind)
        job.row = rows[source].get(job.target) if source else None
    return found


def matching(word: str) -> Q:
    """Jobs on rows that the word finds, such as an address or its beginning."""
    found = Q(pk__in=[])
    for source in set(asked.values()):
        kinds = [kind for kind, one in asked.items() if one is source]
        found |= Q(kind__in=kinds, target__in=source.rows().filter(source.find(word)).order_by().values("pk"))
    return found
