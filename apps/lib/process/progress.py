"""Lines of long commands: how much is done, and how long the rest takes at this speed."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
Say = Callable[[str], object]
# A log keeps every line.
TERMINAL_SECONDS, LOG_SECONDS = 5.0, 30.0


def to_standard_error(line: str) -> None:
    """Standard output is for results."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


class Progress:
    """Counts what is done of `total` and says so. Short work says nothing.

    `blobs: 12,345 of 104,000 (12%), about 3 min left`. Not for several threads: count where the results come in.
    """

    def __init__(self, what: str, total: int, *, say: Say = to_standard_error, seconds: float = 0.0) -> None:
        self.what, self.total, self.done = what, total, 0
        self._say = say
        self._seconds = seconds or (TERMINAL_SECONDS if sys.stderr.isatty() else LOG_SECONDS)
        self._began = self._said = time.monotonic()

    def add(self, count: int = 1) -> None:
        self.done += count
        now = time.monotonic()
        if now < self._said + self._seconds:
            return
        self._said = now
        total = max(self.total, self.done)  # more may have come in meanwhile
        left = (now - self._began) / self.done * (total - self.done) if self.done else 0.0
        share = f"{self.done:,} of {total:,} ({100 * self.done // max(1, total)}%)"
        self._say(f"{self.what}: {share}, about {duration(left)} left")

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and count each when the caller is done with it."""
        for item in items:
            yield item
            self.add()


def duration(seconds: float) -> str:
    """45 s, 12 min, 3 h 20 min."""
    if seconds < 90:  # noqa: PLR2004
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004
