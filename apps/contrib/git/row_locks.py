"""Lock a repository in the caller's transaction: listings, links to releases and changes of rules take turns.

The repository comes before its tags: in another order two could wait for each other.
"""

from django.db.models import QuerySet

from apps.accounts.access import connections
from apps.contrib.git.models import GitRepository
from apps.lib.errors import Conflict


def locked(number: int) -> GitRepository:
    """Also one that was disconnected."""
    return _rows().get(pk=number)


def connected(number: int) -> GitRepository | None:
    """None for one that was disconnected."""
    return _rows().filter(pk=number, ended_at=None).first()


def working(number: int) -> GitRepository | None:
    """For what workers do: None for one that was disconnected or suspended."""
    return _rows().filter(pk=number, ended_at=None, suspended_at=None).first()


def required(repository: GitRepository) -> GitRepository:
    """Raises Conflict for one that was disconnected."""
    row = connected(repository.pk)
    if row is None:
        raise Conflict("This repository was disconnected.", hint="Connect it again.")
    return row


def required_working(repository: GitRepository) -> GitRepository:
    """Raises Conflict for one that was disconnected or is suspended."""
    row = required(repository)
    connections.refuse_suspended(row, "This repository")
    return row


def _rows() -> QuerySet[GitRepository]:
    return GitRepository.objects.select_for_update(of=("self",)).select_related("namespace")
