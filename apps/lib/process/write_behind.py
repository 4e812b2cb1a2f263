"""Collect values in memory and write them in bulk from a thread, so that no request writes (D15)."""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.util import Finalize
from typing import Generic, TypeVar

from apps.lib.process.periodic import Periodic

K = TypeVar("K")
V = TypeVar("V")

log = logging.getLogger(__name__)


class NotWritten(Exception):
    """Raised by `write` during an outage; the batch stays for the next time."""


class WriteBehind(Generic[K, V]):
    """Merges values of one key. A crash loses the values since the last write, a clean stop loses nothing.

    `write` returns how much it changed; it writes a whole batch, or nothing and raises NotWritten. During an outage at
    most `most` keys are collected; values of further keys are lost. The thread calls `rest` after each write.
    """

    def __init__(
        self,
        name: str,
        *,
        write: Callable[[dict[K, V]], int],
        merge: Callable[[V, V], V],
        every: timedelta,
        most: int,
        rest: Callable[[], None],
    ) -> None:
        self.name = name
        self._write, self._merge, self._most = write, merge, most
        self._thread = Periodic(name, self.flush, every=every, rest=rest)
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._batch: dict[K, V] = {}
        self._lost = 0

    def add(self, key: K, value: V) -> None:
        with self._lock:
            self._add(key, value)

    def flush(self) -> int:
        """Write the batch; return what `write` returned."""
        # One at a time: the last flush of a process waits for the one that its thread is in.
        with self._writing:
            with self._lock:
                batch, self._batch = self._batch, {}
                lost, self._lost = self._lost, 0
            if lost:
                log.error("values_lost", extra={"buffer": self.name, "lost": lost})
            if not batch:
                return 0
            try:
                return self._write(batch)
            except NotWritten as away:
                log.warning("values_not_written", extra={"buffer": self.name, "kept": len(batch), "error": str(away)})
                with self._lock:
                    newer, self._batch = self._batch, batch
                    for key, value in newer.items():
                        self._add(key, value)
                return 0

    def start(self) -> None:
        """Write in the background from now on. Web processes call it, commands and tests do not."""
        if self._thread.start():
            # Runs at a clean exit of the main process and of a multiprocessing child (atexit misses the latter).
            Finalize(None, self.flush, exitpriority=10)

    def _add(self, key: K, value: V) -> None:
        if key in self._batch:
            self._batch[key] = self._merge(self._batch[key], value)
        elif len(self._batch) < self._most:
            self._batch[key] = value
        else:
            self._lost += 1
