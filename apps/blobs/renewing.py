"""Lists that each web process keeps in memory, so that downloads obey them during a database outage (D6).

A thread reads them again every two seconds. Until the first success a list is empty.
"""

import threading
from datetime import timedelta
from typing import Generic, TypeVar

import structlog
from django.db import DatabaseError, InterfaceError, connections

from apps.lib.process.periodic import Periodic

EVERY = timedelta(seconds=2)
T = TypeVar("T")

log = structlog.get_logger("larder.blobs")


class Renewed(Generic[T]):
    """`value` is the last result of `read`, or `empty` before the first."""

    def __init__(self, name: str, empty: T) -> None:
        self.name = name
        self.value = self._empty = empty
        self._lock = threading.Lock()
        self._thread = Periodic(name, self._renew, every=EVERY, rest=connections.close_all)

    def read(self) -> T:
        """Query the database; its errors pass through."""
        raise NotImplementedError

    def renew(self) -> None:
        value = self.read()
        with self._lock:
            self.value = value

    def clear(self) -> None:
        self.value = self._empty

    def start(self) -> None:
        """Renew in the background from now on. Web processes call it, commands and tests do not."""
        self._thread.start()

    def _renew(self) -> None:
        try:
            self.renew()
        except (DatabaseError, InterfaceError) as error:
            log.warning("list_not_renewed", list=self.name, error=type(error).__name__)
