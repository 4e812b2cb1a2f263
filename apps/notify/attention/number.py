"""The number in the account menu: of how much a person can do something about, as home lists it.

The number is repeated for a minute, unless the person acts or another release waits for them, which one query tells:
what others do shows a little later, and at home at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.core.cache import cache

from apps.accounts.access.gate import Viewer
from apps.notify.attention import perhaps, table
from apps.notify.attention.matter import Item, Person
from apps.releases.catalogue.reading import Waiting, waiting_for


@dataclass(frozen=True, slots=True)
class Attention:
    waiting: Waiting = field(default_factory=Waiting)
    number: int = 0


def at_home(person: Person) -> tuple[list[Item], list[Item], Attention]:
    """Return the lines of `table.lines_for`, and the number, which the next pages repeat."""
    asked = table.asked_of(person.user)
    to_do, to_know = table.lines_for(person, asked)
    number = _number_of(to_do)
    _repeat(person.viewer, number, asked, person.waiting)
    return to_do, to_know, Attention(person.waiting, number)


def attention_for(viewer: Viewer) -> Attention:
    if viewer.user is None:
        return Attention()
    since, number = cache.get(_name(viewer)) or (None, 0)
    asked = table.asked_of(viewer.user) if since is None else table.asked_of_releases(viewer.user)
    waiting = waiting_for(viewer) if asked.rows & table.OF_RELEASES else Waiting()
    if since != _state(asked, waiting):
        asked = asked if since is None else table.asked_of(viewer.user)
        number = _number_of(table.lines_for(Person.of(viewer, waiting), asked)[0]) if asked.rows else 0
        _repeat(viewer, number, asked, waiting)
    return Attention(waiting, number)


def _number_of(to_do: Iterable[Item]) -> int:
    return sum(item.count for item in to_do)


def _repeat(viewer: Viewer, number: int, asked: table.Asked, waiting: Waiting) -> None:
    cache.set(_name(viewer), (_state(asked, waiting), number), perhaps.NUMBER_LASTS.total_seconds())


def _name(viewer: Viewer) -> str:
    return f"attention-{viewer.user_id}"


def _state(asked: table.Asked, waiting: Waiting) -> str:
    """Return what a number holds for: the person's last act, and the releases that wait for them."""
    return f"{asked.last_act}-{waiting.held}-{'-'.join(map(str, waiting.approvals))}"[:250]
