"""How much of this worker does work in bulk: all but one of its slots, which is for what somebody waits for."""

import time
from threading import Lock

from django.conf import settings

GIVES_WAY_SECONDS = 10.0  # work in bulk, to what somebody waits for


class Slots:
    """How much of this process does work in bulk: all but one of its slots. The last one is for what somebody waits
    for; while that runs, none begins, unless it has waited for long: they would share the processors.
    """

    def __init__(self) -> None:
        self._taken = {True: 0, False: 0}  # in bulk, and awaited
        self._begun, self._lock = 0.0, Lock()  # when the last one in bulk began

    def take(self, *, in_bulk: bool) -> bool:
        with self._lock:
            if in_bulk:
                gives_way = self._taken[False] > 0 and time.monotonic() - self._begun < GIVES_WAY_SECONDS
                if gives_way or self._taken[True] >= max(1, settings.WORKER_CONCURRENCY - 1):
                    return False
                self._begun = time.monotonic()
            self._taken[in_bulk] += 1
            return True

    def give_back(self, *, in_bulk: bool) -> None:
        with self._lock:
            self._taken[in_bulk] -= 1


own = Slots()
