"""The read lease of 0.5 s under which this process repeats answers, and the wait until that of all others has ended.

Runs on the event loop, except the one query that renews the lease, which has a thread of its own.
"""

import asyncio
import fcntl
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import structlog
from django.db import DatabaseError, InterfaceError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit import generation

# A request waits so long for a renewal before it goes to Django, which says that the database is away.
PATIENCE = 0.2

log = structlog.get_logger("larder.front")


class Peers:
    """Other processes that repeat answers from the same SQLite database: without any, a change need not wait.

    Each process holds a shared POSIX lock on a file beside the database, from before its first question for the
    generation until it ends; the kernel releases it. A process that joins after a change asks later than that.

    SQLite keeps all its processes on one machine, by locks of the same kind. The clients of PostgreSQL may be anywhere,
    and a lost connection would free a lock while its process still answers, so there every change waits.
    """

    def __init__(self, file: Path | None) -> None:
        """Show this process to the others. `file` is None if they cannot be known. Raises OSError."""
        self._pid = os.getpid()  # a fork does not inherit the lock
        self._descriptor: int | None = None
        if file is not None:
            # Never closed: a process that closes any descriptor of a file gives up its locks on it.
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.lockf(self._descriptor, fcntl.LOCK_SH)

    def are_none(self) -> bool:
        """Tell whether no other process may repeat what was before now. False if that is unknown."""
        if self._descriptor is None or self._pid != os.getpid():
            return False
        try:
            # If another process shares the lock, this fails and leaves this process its share.
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.lockf(self._descriptor, fcntl.LOCK_SH)
        return True


def peers_at(connection: BaseDatabaseWrapper) -> Peers:
    """Join the processes of this database. Raises OSError."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's alone
        return Peers(None)
    return Peers(Path(f"{os.path.realpath(connection.settings_dict['NAME'])}-front"))


@dataclass(slots=True)
class News:
    """The database's answer to one question, and the times around it by time.monotonic()."""

    since: int
    asked: float
    answered: float
    changes: dict[str, int]


class Lease:
    """The generation as this process knows it. Everything but the question itself runs on the event loop.

    `number` is the last change that it knows, `changes` that of each scope. Numbers compare within one `era`, which
    ends with a change of everything, and where the database may be another one.
    """

    def __init__(
        self,
        connect: Callable[[], BaseDatabaseWrapper] | None = None,
        join: Callable[[BaseDatabaseWrapper], Peers] = peers_at,
    ) -> None:
        self._connect = connect or _connection
        self._join = join
        self.era = 0
        self.number = -1
        self.changes: dict[str, int] = {}
        self.is_complete = False  # `changes` has all that were ever made
        self._asked = self._changed = float("-inf")  # when it last asked, and last learned of a change
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lease")
        self._connection: BaseDatabaseWrapper | None = None
        self._peers: Peers | None = None
        self._renewal: asyncio.Task[bool] | None = None

    async def holds(self) -> bool:
        """Renew in the background from half of the lease on, so that a busy process waits for no renewal."""
        age = time.monotonic() - self._asked
        if age >= generation.LEASE / 2:
            if self._renewal is None or self._renewal.done():
                self._renewal = asyncio.get_running_loop().create_task(self.renew())
            if age >= generation.LEASE:
                await asyncio.wait([self._renewal], timeout=PATIENCE)
        return time.monotonic() < self._asked + generation.LEASE

    def holds_unattended(self) -> bool:
        """Tell, in any thread, whether it holds and nobody need begin its renewal."""
        age = time.monotonic() - self._asked
        renewal = self._renewal
        return age < generation.LEASE / 2 or (age < generation.LEASE and renewal is not None and not renewal.done())

    async def renew(self) -> bool:
        """Ask now; False if the database does not answer."""
        loop = asyncio.get_running_loop()
        try:
            news = await loop.run_in_executor(self._thread, self._ask, self.number if self.is_complete else -1)
        except (DatabaseError, InterfaceError, OSError) as error:
            log.warning("database_away", error=type(error).__name__)
            return False
        counter = news.changes.get(generation.ANYTHING, 0)
        if counter != self.number:
            self._changed = news.answered
        is_continued = news.since >= 0 and counter >= self.number
        if not is_continued or news.changes.get(generation.EVERYTHING, 0) > self.number:
            self.era += 1
        if is_continued:
            self.changes |= news.changes
        else:
            self.changes = dict(news.changes)
            self.is_complete = news.since < 0
        self.number = counter
        self._asked = max(self._asked, news.asked)
        return True

    async def run_out(self) -> None:
        """Wait until no process repeats what was before any change that is committed by now."""
        if not await self.renew():
            self._changed = time.monotonic()  # perhaps
        elif self._peers is not None and self._peers.are_none():
            return
        remaining = self._changed + generation.LEASE_OUT - time.monotonic()
        if remaining > 0:
            await asyncio.sleep(remaining)

    def is_current(self, scopes: Iterable[str], era: int, number: int) -> bool:
        """Tell whether what was answered then, and depends on these scopes, still holds."""
        return era == self.era and all(self.changes.get(scope, 0) <= number for scope in scopes)

    def is_current_for_all(self, scopes: Iterable[str], number: int) -> bool:
        """Tell whether what another process was answered at that number still holds, whatever its era.

        What this process has not come to yet may be of another database.
        """
        known = self.is_complete and number <= self.number
        return known and all(self.changes.get(scope, 0) <= number for scope in (generation.EVERYTHING, *scopes))

    def _ask(self, since: int) -> News:
        """One query, on a connection of its own that no pool lends and no request closes."""
        asked = time.monotonic()
        if self._connection is None:
            self._connection, since = self._connect(), -1
        try:
            if self._peers is None:  # before the question: whoever has not seen this process changed something earlier
                self._peers = self._join(self._connection)
            changes = generation.changes_since(self._connection, since)
        except BaseException:
            self._connection.close()
            self._connection = None
            raise
        return News(since, asked, time.monotonic(), changes)


def _connection() -> BaseDatabaseWrapper:
    default = connections["default"].settings_dict
    options = {name: value for name, value in default["OPTIONS"].items() if name != "pool"}
    return type(connections["default"])({**default, "OPTIONS": options}, "default")
