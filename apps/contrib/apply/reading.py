"""Reads what the registry has, for plans, runs and exports: each kind once for hundreds of names."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from apps.room import Described, rooms

BLOCK = 500  # names: what is read at once stays in memory
Row = dict[str, Any]
One = TypeVar("One")


def kinds(within: str = "") -> list[Described]:
    """The kinds that a file can have there, of the rooms that are installed."""
    return [kind for room in rooms() for kind in room.described if kind.within == within]


def blocks(many: Iterable[One]) -> Iterator[list[One]]:
    rest = iter(many)
    while block := list(islice(rest, BLOCK)):
        yield block


class Block:
    """The rows of these names, and of what is within them. A kind is read when it is first asked for."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = [name for name in names if "\0" not in name]  # which PostgreSQL refuses
        self._rows: dict[str, defaultdict[str, list[Row]]] = {}

    def take(self, kind: Described, name: str) -> list[Row]:
        """Return the rows of this name, which are asked for once."""
        if kind.word not in self._rows:
            found = self._rows[kind.word] = defaultdict(list)
            for key, row in kind.read(self._names):
                found[key].append(row)
        return self._rows[kind.word].pop(name, [])
