"""What a process notes in memory and writes down in bulk by a thread of its own, so that no request does (D15)."""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.util import Finalize
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

log = logging.getLogger(__name__)


class NotWritten(Exception):
    """The place to write to is away: the batch is kept for the next time."""


class WriteBehind(Generic[K, V]):
    """Values by key; those of one key are merged. A crash loses what came since the last write, a clean stop nothing.

    `write` answers how much it changed; it writes all of a batch, or nothing and raises NotWritten. While it cannot
    write, at most `most` keys are kept, and what comes for others is lost. `rest` is called by the thread after each
    write, to give back what it holds.
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
        self._write, self._merge, self._every, self._most, self._rest = write, merge, every, most, rest
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._held: dict[K, V] = {}
        self._lost = 0
        self._is_started = False

    def note(self, key: K, value: V) -> None:
        with self._lock:
            self._add(key, value)

    def flush(self) -> int:
        """Write what is held; answers what the write answered."""
        # One at a time: the last flush of a process waits for the one that its thread is busy with.
        with self._writing:
            with self._lock:
                batch, self._held = self._held, {}
                lost, self._lost = self._lost, 0
            if lost:
                log.error("%s: %d notes were lost, because there was no room to keep them", self.name, lost)
            if not batch:
                return 0
            try:
                return self._write(batch)
            except NotWritten as away:
                log.warning("%s: %d notes kept for the next time: %s", self.name, len(batch), away)
                with self._lock:
                    newer, self._held = self._held, batch
                    for key, value in newer.items():
                        self._add(key, value)
                return 0

    def start(self) -> None:
        """Begin writing in the background, once a process: web processes call it, commands and tests do not."""
        with self._lock:
            if self._is_started:
                return
            self._is_started = True
        threading.Thread(target=self._run, name=self.name, daemon=True).start()
        # Runs at a clean exit of the main process and of a multiprocessing child alike (atexit misses the latter).
        Finalize(None, self.flush, exitpriority=10)

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(self._every.total_seconds())
            try:
                self.flush()
            except Exception:
                log.exception("%s: a batch could not be written and is lost", self.name)
            self._rest()

    def _add(self, key: K, value: V) -> None:
        if key in self._held:
            self._held[key] = self._merge(self._held[key], value)
        elif len(self._held) < self._most:
            self._held[key] = value
        else:
            self._lost += 1
