"""The people who asked for a listing, or for another try of a tag: they take part in the releases that come of it.

A person who connected or changed a repository takes part in all that comes from it (`accounts.access.machines.acted`).
"""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Q

from apps.accounts.access import machines
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Act
from apps.contrib.git.models import GitRepository, Request, Tag
from apps.releases.origin.models import Part

LISTING = "list-git-tags"


def ask(repository: GitRepository, actor: Viewer, tag: Tag | None = None) -> None:
    """Record who asks, in the caller's transaction."""
    for number in machines.people_behind(actor):
        Request.objects.create(repository=repository, tag=tag, user_id=number)


def retried(kind: str, row: object, actor: Viewer) -> None:
    """Record who has a job on the repository or the tag tried again (`jobs.queue.retry`), in its transaction."""
    if isinstance(row, Tag):
        ask(row.repository, actor, row)
    elif isinstance(row, GitRepository):
        if kind == LISTING:
            ask(row, actor)
        else:  # it looks at the repository, or at its server
            machines.acted(row.user_id, actor, Act.SCANNED)


def open_ones(repository: GitRepository) -> list[int]:
    """Return the numbers of requests that the listing which begins now answers: later ones are answered by the next."""
    return list(Request.objects.filter(repository=repository, tag=None, until=None).values_list("pk", flat=True))


def answered(numbers: Collection[int], *, now: datetime) -> None:
    """A listing that succeeded, in its transaction; `now` is also when the tags that it found changed."""
    Request.objects.filter(pk__in=list(numbers)).update(until=now)


def behind(tag: Tag) -> dict[Part, set[int]]:
    """Return who had this tag published, by how. A listing counts that found the tag, or found it waiting."""
    rows = Request.objects.filter(repository=tag.repository_id)
    listings = rows.filter(Q(until=None) | Q(until__gte=tag.changed_at), tag=None)
    return {
        Part.SYNC: set(listings.values_list("user", flat=True)),
        Part.RETRY: set(rows.filter(tag=tag).values_list("user", flat=True)),
    }
