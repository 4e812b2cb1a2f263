"""The share of this worker that does bulk work: all but one of its slots.

The last one is for work that a person waits for. While that runs, no work in bulk begins, unless it has waited for
long: they would share the processors.
"""

import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, lockf
from tempfile import TemporaryFile
from threading import Lock
from typing import Protocol

from django.conf import settings

GIVES_WAY_SECONDS = 10.0  # work in bulk, to what somebody waits for


class Slots(Protocol):
    def take(self, *, in_bulk: bool) -> bool:
        """Return whether such work may begin. If not, the job that ends next rings again."""

    def give_back(self, *, in_bulk: bool) -> None: ...


class OfThreads:
    """The threads of this process."""

    def __init__(self) -> None:
        self._taken = {True: 0, False: 0}  # in bulk, and awaited
        self._begun, self._lock = 0.0, Lock()  # when the last one in bulk began

    def take(self, *, in_bulk: bool) -> bool:
        with self._lock:
            if in_bulk:
                gives_way = self._taken[False] > 0 and time.monotonic() - self._begun < GIVES_WAY_SECONDS
                if gives_way or self._taken[True] >= _most_in_bulk():
                    return False
                self._begun = time.monotonic()
            self._taken[in_bulk] += 1
            return True

    def give_back(self, *, in_bulk: bool) -> None:
        with self._lock:
            self._taken[in_bulk] -= 1


class OfProcesses:
    """The processes of a prefork pool, each with one job at a time: locks on bytes of a file that they inherit.

    The kernel drops the locks of a process that dies.
    """

    _ALONE, _AWAITED, _IN_BULK = range(3)  # bytes; those after the last one are slots, too

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115  # as long as this process

    def take(self, *, in_bulk: bool) -> bool:
        with self._deciding():
            if not in_bulk:
                lockf(self._file, LOCK_SH, 1, self._AWAITED)
                return True
            gives_way = time.monotonic() - self._begun() < GIVES_WAY_SECONDS and not self._try(self._AWAITED)
            lockf(self._file, LOCK_UN, 1, self._AWAITED)
            slots = range(self._IN_BULK, self._IN_BULK + _most_in_bulk())
            if gives_way or not any(map(self._try, slots)):
                return False
            os.pwrite(self._file.fileno(), struct.pack("d", time.monotonic()), 0)
            return True

    def give_back(self, *, in_bulk: bool) -> None:  # noqa: ARG002  # its one job has ended
        lockf(self._file, LOCK_UN)

    @contextmanager
    def _deciding(self) -> Iterator[None]:
        lockf(self._file, LOCK_EX, 1, self._ALONE)
        try:
            yield
        finally:
            lockf(self._file, LOCK_UN, 1, self._ALONE)

    def _begun(self) -> float:
        """When the last one in bulk began, by a clock that the processes share."""
        found = os.pread(self._file.fileno(), 8, 0)
        return float(struct.unpack("d", found)[0]) if found else 0.0

    def _try(self, byte: int) -> bool:
        try:
            lockf(self._file, LOCK_EX | LOCK_NB, 1, byte)
        except OSError:
            return False
        return True


def _most_in_bulk() -> int:
    return max(1, settings.WORKER_CONCURRENCY - 1)


# Made before a pool forks.
own: Slots = OfProcesses() if settings.WORKER_POOL == "prefork" else OfThreads()
