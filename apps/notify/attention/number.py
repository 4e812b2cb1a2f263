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
    cache.set(_key(person.viewer, asked, person.waiting), number, perhaps.NUMBER_LASTS.total_seconds())
    return to_do, to_know, Attention(person.waiting, number)


def attention_for(viewer: Viewer) -> Attention:
    if viewer.user is None:
        return Attention()
    of_releases = table.asked_of_releases(viewer.user)
    waiting = waiting_for(viewer) if of_releases.rows else Waiting()
    key = _key(viewer, of_releases, waiting)
    number = cache.get(key)
    if number is None:
        asked = table.asked_of(viewer.user)
        number = _number_of(table.lines_for(Person.of(viewer, waiting), asked)[0]) if asked.rows else 0
        cache.set(key, number, perhaps.NUMBER_LASTS.total_seconds())
    return Attention(waiting, number)


def _number_of(to_do: Iterable[Item]) -> int:
    return sum(item.count for item in to_do)


def _key(viewer: Viewer, asked: table.Asked, waiting: Waiting) -> str:
    return f"attention-{viewer.user_id}-{asked.last_act}-{waiting.held}-{'-'.join(map(str, waiting.approvals))}"[:250]
