"""Let a request wait for a worker without a thread: the view says for what, and the server calls it again later.

They exchange that in the request's environ; see registry_site/server/waiting.py.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

OFFERED = "larder.can_wait"  # by a server that can wait
ASKED = "larder.waiting"  # by a view: a `Waiting`

# The states of some rows, by their primary keys, in one query; a row that is gone is missing.
StatesOf = Callable[[Collection[int]], Mapping[int, object]]


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """Waits while the row is in one of `states`, at most `until` (time.monotonic()).

    `resume` is what the view needs when it is called again.
    """

    states_of: StatesOf
    row: int
    states: Collection[object]
    until: float
    resume: Any = None


class NotYet(Exception):
    """A worker must do something before this can be answered. The edge waits for that, or answers 503."""

    def __init__(self, waiting: Waiting) -> None:
        self.waiting = waiting
        super().__init__("A worker is still fetching this.")


def with_news(waiting: Iterable[Waiting]) -> list[Waiting]:
    """Return those whose row has changed its state. One query for each kind of row."""
    by_kind: dict[StatesOf, list[Waiting]] = {}
    for one in waiting:
        by_kind.setdefault(one.states_of, []).append(one)
    found = []
    for states_of, alike in by_kind.items():
        states = states_of({one.row for one in alike})
        found += [one for one in alike if states.get(one.row) not in one.states]
    return found
