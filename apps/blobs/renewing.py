"""What each web process remembers of the database, so that it holds for downloads while that is away (D6).

A thread of the process reads it again every two seconds, also where nobody asks. A process that could not read it even
once since its start knows of nothing.
"""

import threading
from datetime import timedelta
from typing import Generic, TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, connections

EVERY = timedelta(seconds=2)
T = TypeVar("T")

log = structlog.get_logger("larder.blobs")


class Renewed(Generic[T]):
    """`found` is what `read` answered last, and `nothing` before."""

    def __init__(self, name: str, nothing: T) -> None:
        self.name = name
        self.found = self._nothing = nothing
        self._lock = threading.Lock()
        self._is_started = False

    def read(self) -> T:
        """Ask the database. Raises what it raises."""
        raise NotImplementedError

    def renew(self) -> None:
        found = self.read()
        with self._lock:
            self.found = found

    def forget(self) -> None:
        """Know of nothing, as a process that has just begun."""
        self.found = self._nothing

    def start(self) -> None:
        """Begin to renew, once a process: web processes call it, commands and tests do not."""
        with self._lock:
            if self._is_started:
                return
            self._is_started = True
        threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self.renew()
            except (DatabaseError, InterfaceError) as error:
                log.warning("list_not_renewed", list=self.name, error=type(error).__name__)
            except Exception:
                log.exception("list_not_renewed", list=self.name)
            connections.close_all()  # those of this thread: they are not worth keeping open
            pause.wait(EVERY.total_seconds())
