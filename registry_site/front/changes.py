"""The changes of the database as this process knows them: before it repeats an answer, it asks for those made by now.

Runs on the event loop. PostgreSQL is asked in a thread, once for all requests that came while it was busy; SQLite
without one, which takes microseconds.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

import structlog
from django.db import DatabaseError, InterfaceError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit import generation
from registry_site.front import outage

# A request waits so long before it goes to Django, which says that the database is away.
PATIENCE = 0.2

log = structlog.get_logger("larder.front")


class Changes:
    """`number` is the last change that is known. Numbers compare within one `era`, which ends with a change of
    everything, and where the database may be another one.
    """

    def __init__(
        self, connect: Callable[[], BaseDatabaseWrapper] = outage.connect, *, patience: float = PATIENCE
    ) -> None:
        self.era, self.number = 0, -1
        self.on_changes: Callable[[Collection[str]], None] = lambda _: None  # the scopes; all, if it may be any
        self.outage = outage.configured()
        self._numbers: dict[str, int] = {}  # of the last change of each scope
        self._asked = self._changed = float("-inf")  # when it last asked and was answered, and learned of a change
        self._connect, self._patience = connect, patience
        self._connection: BaseDatabaseWrapper | None = None
        self._is_at_hand = connections["default"].vendor == "sqlite"
        self._readers = 0  # questions in the thread
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self._next: asyncio.Future[bool] | None = None  # the answer to the next question
        self._asking: asyncio.Task[None] | None = None

    async def learn(self) -> bool:
        """Learn of all changes that are committed by now; False if the database does not answer."""
        if self.outage.is_sure:
            return False
        return self._has_looked() or await self._ask_with_others()

    def _has_looked(self) -> bool:
        """Ask SQLite; False where a thread must."""
        if not self._is_at_hand or self._readers or self._connection is None:
            return False
        began = time.monotonic()
        try:
            changes = generation.changes_at_hand(self._connection.connection, self.number)
        except sqlite3.Error:
            return False
        self._know(began, self.number, changes)
        return True

    async def _ask_with_others(self) -> bool:
        # A question that is under way may have begun before the change.
        if self._next is None:
            loop = asyncio.get_running_loop()
            self._next = loop.create_future()
            if self._asking is None or self._asking.done():
                self._asking = loop.create_task(self._ask_for_all())
        answer = self._next
        await asyncio.wait([answer], timeout=self._patience)
        return answer.done() and answer.result()

    async def _ask_for_all(self) -> None:
        while self._next is not None:
            answer, self._next = self._next, None
            is_answered = False
            try:
                is_answered = await self.ask()
            finally:
                answer.set_result(is_answered)

    async def ask(self) -> bool:
        """Ask now; False if the database does not answer."""
        loop, began = asyncio.get_running_loop(), time.monotonic()
        self._readers += 1
        try:
            since, changes = await loop.run_in_executor(self._thread, self._read, self.number)
        except (DatabaseError, InterfaceError, OSError) as error:
            if not self.outage.is_sure:
                log.warning("database_away", error=type(error).__name__)
            self.outage.fails(began=began, asked=self._asked, error=error)
            return False
        finally:
            self._readers -= 1
        self._know(began, since, changes)
        return True

    def _read(self, since: int) -> tuple[int, dict[str, int]]:
        """One query, on a connection of its own that no pool lends and no request closes. -1 is since ever."""
        if self._connection is None:
            self._connection, since = self._connect(), -1
        try:
            return since, generation.changes_since(self._connection, since)
        except BaseException:
            self._connection.close()
            self._connection = None
            raise

    def _know(self, began: float, since: int, changes: dict[str, int]) -> None:
        """Take the answer to a question that began then."""
        self.outage.ends()
        self._asked = max(self._asked, began)
        counter = changes.get(generation.ANYTHING, 0)
        is_continued = since >= 0 and counter >= self.number
        if is_continued and counter == self.number:
            return
        self._changed = time.monotonic()
        if not is_continued or changes.get(generation.EVERYTHING, 0) > self.number:
            self.era += 1
        if is_continued:
            self.on_changes([scope for scope, number in changes.items() if number > self.number])
            self._numbers |= changes
        else:
            self.on_changes([generation.EVERYTHING])
            self._numbers = changes
        self.number = counter

    @property
    def history(self) -> int:
        """The last change of everything, as a quarantine is."""
        return self._numbers.get(generation.EVERYTHING, 0)

    def is_current(self, scopes: Iterable[str], era: int, number: int) -> bool:
        """Return whether what was answered then, and depends on these scopes, still holds."""
        if era != self.era:
            return False
        for scope in scopes:  # noqa: SIM110  # `all` takes twice as long, and each ready answer pays it
            if self._numbers.get(scope, 0) > number:
                return False
        return True

    # --- An outage of the database, where answers are repeated during one ---------------------------------------------

    async def keep_asking(self) -> None:
        """Ask continually, so that this process knows at the start of an outage all changes that clients were told of
        before.
        """
        asking: asyncio.Task[bool] | None = None
        while True:
            if asking is None or asking.done():
                asking = asyncio.get_running_loop().create_task(self.ask())
            await asyncio.wait([asking], timeout=outage.PATIENCE)
            if not asking.done() and self._connection is not None:
                outage.cut(self._connection)
            self.outage.share(is_well=asking.done() and asking.result())
            await asyncio.sleep(outage.ASK_EVERY)

    async def has_outage(self) -> bool:
        """Return whether the database is away and answers may be repeated, after a second look where one failed."""
        if self.outage.since is not None and not self.outage.is_sure:
            await self._ask_with_others()
        return self.outage.lasts()

    async def run_out(self) -> bool:
        """Wait until every process that may repeat answers during an outage knows each change that is committed by now.

        False: the database went away before that is sure.
        """
        if not await self.ask():
            self._changed = time.monotonic()  # perhaps
        remaining = self._changed + generation.KNOWN_WITHIN - time.monotonic()
        if remaining > 0:
            await asyncio.sleep(remaining)
        return await self.ask()
