"""The table of matters that need attention: each event with the people who can act on it, and those who are only told.

Mails, home and the numbers of the user menu are built from it. Rooms of `contrib` add rows at their door.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db.models import Exists, QuerySet, Subquery
from django.utils import timezone

from apps.accounts.models import User
from apps.jobs.compiled_queries import CompiledQuery
from apps.notify.attention import at_home, perhaps, readers, taken
from apps.notify.attention.matter import Item, Matter, Person
from apps.notify.models import Topic
from apps.notify.notices import approval_switched

KEYS = Matter(
    "key", Topic.EXPIRING, can_act=readers.owners, act="Replace the key", at_home=at_home.keys, perhaps=perhaps.keys
)
TOKENS = Matter(
    "token",
    Topic.EXPIRING,
    can_act=readers.holder,
    act="Create a new token",
    at_home=at_home.tokens,
    perhaps=perhaps.tokens,
)
TABLE: tuple[Matter, ...] = (
    Matter(
        "approval",
        Topic.APPROVALS,
        ("release.awaiting-approval",),
        can_act=readers.approvers,
        told=readers.involved,
        act="Review and approve",
        at_home=at_home.approvals,
        perhaps=perhaps.approvals,
        rank=1,
    ),
    Matter(
        "release",
        Topic.REFUSED,
        ("release.held", "release.rejected", "release.failed"),
        can_act=readers.author,
        act="Open the release",
        at_home=at_home.releases,
        perhaps=perhaps.releases,
        rank=2,
    ),
    Matter(
        "request",
        Topic.REQUESTS,
        ("access.requested",),
        can_act=readers.owners,
        act="Answer the request",
        at_home=at_home.requests,
        perhaps=perhaps.requests,
    ),
    Matter(
        "connection",
        Topic.HANDOVER,
        ("connections.suspended", "connections.left-behind"),
        can_act=readers.owners,
        act="Review the connections",
        at_home=at_home.connections,
        perhaps=perhaps.connections,
    ),
    KEYS,
    TOKENS,
    Matter(
        "taken",
        Topic.TAKEN,
        taken.VERSIONS,
        letters=taken.letters_of,
        at_home=at_home.taken,
        perhaps=perhaps.taken,
        rank=3,
    ),
    Matter(
        "version",
        Topic.WITHDRAWN,
        ("release.deprecated", "release.yanked"),
        told=readers.users_of_version,
        at_home=at_home.discouraged_versions,
        perhaps=perhaps.discouraged_versions,
        rank=8,
    ),
    Matter("use", Topic.WITHDRAWN, at_home=at_home.fetched_versions, perhaps=perhaps.fetched_versions, rank=9),
    Matter(
        "message",
        Topic.MESSAGES,
        ("usage.notified",),
        told=readers.addressed,
        at_home=at_home.missed,
        perhaps=perhaps.missed,
        rank=7,
    ),
    # What follows is only told, by mail alone.
    Matter("ended-key", Topic.KEYS, taken.KEYS, letters=taken.letters_of),
    Matter("publication", Topic.PUBLISHED, ("release.published",), told=readers.watchers),
    # A release that was declined is told to its author as any other that was rejected.
    Matter("decision", Topic.APPROVALS, ("release.approved",), told=readers.author),
    Matter("role", Topic.ROLES, ("role.granted", "role.withdrawn"), told=readers.grantee),
    Matter(
        "rule",
        Topic.APPROVALS,
        ("namespace.changed",),
        told=lambda notice: () if approval_switched(notice) is None else readers.owners(notice),
    ),
)
# By registry_site/wiring.py.
of_rooms: tuple[Matter, ...] = ()


def of_event(event: str) -> Iterator[Matter]:
    return (row for row in (*TABLE, *of_rooms) if event in row.events)


def _questions(names: frozenset[str] | None = None) -> QuerySet[User, dict[str, Any]]:
    asked: dict[str, Any] = {
        f"{row.name}_{place}": Exists(question)
        for row in (*TABLE, *of_rooms)
        if names is None or row.name in names
        for place, question in enumerate(row.perhaps())
    }
    asked[_LAST_ACT] = Subquery(perhaps.acts().values("pk")[:1])
    rows: QuerySet[User, Any] = User.objects.filter(pk=perhaps.USER).annotate(**asked)
    found: QuerySet[User, dict[str, Any]] = rows.values(*asked)
    return found


_LAST_ACT = "last_act"
# A release that waits for the person shows in the menu of the next page, whatever the number there is repeated.
OF_RELEASES = frozenset({"approval", "release"})
_perhaps: CompiledQuery[dict[str, Any]] = CompiledQuery(_questions)
_perhaps_of_releases: CompiledQuery[dict[str, Any]] = CompiledQuery(partial(_questions, OF_RELEASES))


@dataclass(frozen=True, slots=True)
class Asked:
    """The names of the rows that may have a line, and the number of the last thing that the person did lately."""

    rows: frozenset[str]
    last_act: int


def asked_of(user: User) -> Asked:
    return _asked(_perhaps, user)


def asked_of_releases(user: User) -> Asked:
    """Ask for the rows about releases alone: PostgreSQL plans the question about all rows for 20 ms."""
    return _asked(_perhaps_of_releases, user)


def _asked(question: CompiledQuery[dict[str, Any]], user: User) -> Asked:
    [found] = question(**perhaps.values_for(user, timezone.now()))
    last_act = found.pop(_LAST_ACT) or 0
    return Asked(frozenset(name.rpartition("_")[0] for name, is_found in found.items() if is_found), last_act)


def lines_for(person: Person, asked: Asked | None = None) -> tuple[list[Item], list[Item]]:
    """Return the lines on which the person can act, and those that only tell. `asked`, if the caller knows it."""
    names = (asked or asked_of(person.user)).rows
    rows = sorted((row for row in (*TABLE, *of_rooms) if row.name in names), key=lambda row: row.rank)
    found = [replace(item, matter=row.name) for row in rows for item in row.at_home(person)]
    return [item for item in found if item.act], [item for item in found if not item.act]
