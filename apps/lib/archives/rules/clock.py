"""The time that one archive may take."""

import time
from collections.abc import Callable

from apps.lib.archives.rules.outcome import refuse


class Clock:
    """`check` raises Refusal once the time is used up."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._end = now() + seconds

    def check(self) -> None:
        if self._now() > self._end:
            found = f"more than {self._seconds:g} seconds of checking"
            raise refuse("too_slow", found, "an archive that is quick to read", "Pack fewer or smaller files.")
