"""Two texts line by line: the shortest list of edits (Myers 1986), within a bound.

difflib has none: a few thousand lines that were chosen for it keep it busy for minutes, and this runs in requests.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

CONTEXT = 3
Sign = Literal[" ", "-", "+"]


class TooDifferent(Exception):
    """The comparison costs more than there is effort left."""


@dataclass(slots=True)
class Effort:
    """The budget of several comparisons together, in steps of about half a microsecond."""

    left: int = 200_000

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooDifferent


@dataclass(frozen=True, slots=True)
class Line:
    """`before` and `after` are its numbers in the two texts, 0 where it is not."""

    sign: Sign
    before: int
    after: int
    text: str


@dataclass(slots=True)
class Hunk:
    """Changed lines that are near to each other, with the lines around them."""

    lines: list[Line] = field(default_factory=list)


def hunks(before: Sequence[str], after: Sequence[str], effort: Effort, *, context: int = CONTEXT) -> list[Hunk]:
    """Empty if the lines are the same. Raises TooDifferent."""
    lines = list(_lines(before, after, effort))
    shown = {
        near
        for position, line in enumerate(lines)
        if line.sign != " "
        for near in range(position - context, position + context + 1)
    }
    found: list[Hunk] = []
    for position, line in enumerate(lines):
        if position not in shown:
            continue
        if position == 0 or position - 1 not in shown:
            found.append(Hunk())
        found[-1].lines.append(line)
    return found


def _lines(before: Sequence[str], after: Sequence[str], effort: Effort) -> Iterator[Line]:
    """Both texts as one: common lines once, removed ones before added ones."""
    effort.spend(len(before) + len(after))
    start, end = 0, 0
    shorter = min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    # The positions of the lines that stay, in order, and the end of both texts.
    common = [
        *((position, position) for position in range(start)),
        *(
            (start + x, start + y)
            for x, y in _snakes(before[start : -end or None], after[start : -end or None], effort)
        ),
        *((len(before) - left, len(after) - left) for left in range(end, -1, -1)),
    ]
    x = y = 0
    for from_x, from_y in common:
        while x < from_x:
            x += 1
            yield Line("-", x, 0, before[x - 1])
        while y < from_y:
            y += 1
            yield Line("+", 0, y, after[y - 1])
        if from_x < len(before) and from_y < len(after):
            x, y = x + 1, y + 1
            yield Line(" ", x, y, before[x - 1])


def _snakes(before: Sequence[str], after: Sequence[str], effort: Effort) -> list[tuple[int, int]]:
    """For each number of edits, `furthest` has how far each diagonal gets; `trail` has those before, to walk back."""
    furthest, trail = {1: 0}, []
    for edits in range(len(before) + len(after) + 1):
        effort.spend(edits + 1)
        trail.append({k: furthest[k] for k in range(-edits - 1, edits + 2) if k in furthest})
        for k in range(-edits, edits + 1, 2):
            x = _start(trail[-1], k, edits)
            first = x
            while x < len(before) and x - k < len(after) and before[x] == after[x - k]:
                x += 1
            effort.spend(x - first + 1)
            furthest[k] = x
            if x >= len(before) and x - k >= len(after):
                return _walk_back(trail, len(before), len(after))
    return []


def _start(furthest: dict[int, int], k: int, edits: int) -> int:
    """Return where the diagonal continues: after a line added, from the one above, or after a line removed."""
    is_down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
    return furthest[k + 1] if is_down else furthest[k - 1] + 1


def _walk_back(trail: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for edits in range(len(trail) - 1, -1, -1):
        k = x - y
        first = _start(trail[edits], k, edits)
        while x > first:
            x, y = x - 1, y - 1
            found.append((x, y))
        is_down = edits and (k == -edits or (k != edits and trail[edits][k - 1] < trail[edits][k + 1]))
        x, y = (x, y - 1) if is_down else (x - 1, y)
    return found[::-1]
