"""A row of the table of matters that need attention, a person at home, and a line that home shows them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import SimpleNamespace
from typing import Any

from django.db.models import BigIntegerField, QuerySet
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, NamespaceQuerySet, Role, User
from apps.jobs.compiled_queries import CompiledQuery, Slot
from apps.notify.models import Topic
from apps.releases.catalogue.reading import Waiting, waiting_for

# Lines of one matter at home.
MOST = 6


def _held() -> QuerySet[Grant]:
    anyone: Any = SimpleNamespace(pk=Slot("user", BigIntegerField()))
    return gate.grants_of(anyone).filter(namespace__deleted_at=None).select_related("namespace")


_HELD: CompiledQuery[Grant] = CompiledQuery(_held)


@dataclass(frozen=True, slots=True)
class Item:
    """A line at home. `act` is the button that leads to `url`; empty for a person who is only told."""

    title: str
    url: str
    text: str = ""
    act: str = ""
    tone: str = "info"  # or "warn", "bad"
    picture: str = "info"
    at: datetime | None = None  # when it expires, where it does
    matter: str = ""  # the name of its row, by `table.lines_for`
    count: int = 1  # of what it is about

    @property
    def is_over(self) -> bool:
        return self.at is not None and self.at <= timezone.now()


@dataclass(frozen=True)
class Person:
    """A person at home, with what several rows ask for: each is read once."""

    viewer: Viewer
    user: User
    waiting: Waiting
    # Their highest role in each namespace, or that of their teams; the highest first, then by name. Staff have no more
    # than what is granted.
    places: tuple[tuple[Namespace, Role], ...]

    @classmethod
    def of(cls, viewer: Viewer, waiting: Waiting | None = None) -> "Person":
        """`waiting`, if the caller has read it."""
        assert viewer.user is not None  # noqa: S101  # home has asked
        held: dict[Namespace, Role] = {}
        for grant in _HELD(user=viewer.user.pk):
            held[grant.namespace] = max(held.get(grant.namespace, Role.READER), Role(grant.role))
        places = sorted(held.items(), key=lambda place: (-place[1], place[0].name, place[0].pk))
        if waiting is None:
            may_wait = viewer.user.is_staff or any(role.covers(Role.PUBLISHER) for role in held.values())
            waiting = waiting_for(viewer) if may_wait else Waiting()
        return cls(viewer, viewer.user, waiting, tuple(places))

    @property
    def publishes(self) -> bool:
        return bool(self.places) and self.places[0][1].covers(Role.PUBLISHER)

    @cached_property
    def publishing(self) -> NamespaceQuerySet:
        return self._with(Role.PUBLISHER)

    @cached_property
    def owned(self) -> NamespaceQuerySet:
        return self._with(Role.OWNER)

    @cached_property
    def owned_names(self) -> frozenset[str]:
        return frozenset(row.name for row, role in self.places if role == Role.OWNER)

    def _with(self, role: Role) -> NamespaceQuerySet:
        """By their numbers: Django takes longer to write a query within queries than the database to answer it."""
        return Namespace.objects.filter(pk__in=[row.pk for row, held in self.places if held.covers(role)])


# The people of a notice (`notices.Notice`), or of a row that expires, each with what their mail says besides.
Readers = Iterable[tuple[QuerySet[User], str]]


@dataclass(frozen=True, slots=True)
class Written:
    """A mail whose text and page depend on who reads it. Without a topic it has that of its row."""

    people: QuerySet[User]
    lines: Iterable[str]
    url: str
    topic: Topic | None = None


def no_reader(_: Any) -> Readers:
    return ()


def no_letter(_: Any) -> Iterable[Written]:
    return ()


def nothing(_: Person) -> Iterable[Item]:
    return ()


@dataclass(frozen=True, slots=True)
class Matter:
    """A row. `events` are those of `notify.events` that are mailed, under `topic`, which people can switch off.

    `act` is the button in the mail of those who can act. `letters` are for people who are told different things.
    `at_home` says the same as `can_act` and `told` for one person: those who can act see the lines with a button. It is
    asked only if one of `perhaps` finds a row, for slots of the module of that name.
    `rank` orders home.
    """

    name: str
    topic: Topic
    events: tuple[str, ...] = ()
    can_act: Callable[[Any], Readers] = no_reader
    told: Callable[[Any], Readers] = no_reader
    letters: Callable[[Any], Iterable[Written]] = no_letter
    act: str = ""
    at_home: Callable[[Person], Iterable[Item]] = nothing
    perhaps: Callable[[], Iterable[QuerySet[Any, Any]]] = tuple
    rank: int = 5
