"""The read lease of 0.5 s under which this process repeats answers, and the wait until that of all others has ended;
and the answers that hold under it.

Runs on the event loop, except the one query that renews the lease, which has a thread of its own.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import structlog
from django.db import DatabaseError, InterfaceError
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit import generation
from apps.http.ready import Download
from registry_site.front import outage
from registry_site.front.peers import Peers, peers_at

# A request waits so long for a renewal before it goes to Django, which says that the database is away.
PATIENCE = 0.2

log = structlog.get_logger("larder.front")


@dataclass(slots=True)
class News:
    """The database's answer to one question, the times around it by time.monotonic(), and the word before it."""

    since: int
    word: int
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
        patience: float = PATIENCE,
    ) -> None:
        self._patience = patience
        self._connect = connect or outage.connect
        self._join = join
        self.era = 0
        self.number = -1
        self.changes: dict[str, int] = {}
        self.is_complete = False  # `changes` has all that were ever made
        self._asked = self._changed = float("-inf")  # when it last asked, and last learned of a change
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lease")
        self._connection: BaseDatabaseWrapper | None = None
        self._peers: Peers | None = None
        self._word: memoryview | tuple[int] = (0,)  # that of the peers: each ready answer looks at it
        self._word_asked = 0  # as it was before the last question
        self._told = float("-inf")  # of which change the peers have heard
        self._renewal: asyncio.Task[bool] | None = None
        self.on_changes: Callable[[Collection[str]], None] = lambda _: None  # the scopes; all, if it may be any
        self.outage = outage.configured()

    async def holds(self) -> bool:
        """Renew in the background from half of the lease on, so that a busy process waits for no renewal."""
        if not self.outage.is_sure and not self.holds_unattended():
            self._begin_renewal()
            for _ in range(2):  # a renewal that was on its way may have asked before the change
                if self.has_ended():
                    await asyncio.wait([self._begin_renewal()], timeout=self._patience)
        return not self.has_ended()

    def _begin_renewal(self) -> asyncio.Task[bool]:
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.get_running_loop().create_task(self.renew())
        return self._renewal

    def has_ended(self) -> bool:
        return time.monotonic() >= self._asked + generation.LEASE or self._word[0] != self._word_asked

    def holds_unattended(self) -> bool:
        """Tell, in any thread, whether it holds and nobody need begin its renewal."""
        age = time.monotonic() - self._asked
        renewal = self._renewal
        is_young = age < generation.LEASE / 2
        is_renewed = age < generation.LEASE and renewal is not None and not renewal.done()
        return (is_young or is_renewed) and self._word[0] == self._word_asked

    async def renew(self) -> bool:
        """Ask now; False if the database does not answer."""
        loop, began = asyncio.get_running_loop(), time.monotonic()
        try:
            news = await loop.run_in_executor(self._thread, self._ask, self.number if self.is_complete else -1)
        except (DatabaseError, InterfaceError, OSError) as error:
            if not self.outage.is_sure:
                log.warning("database_away", error=type(error).__name__)
            self.outage.fails(began=began, asked=self._asked, error=error)
            return False
        self.outage.ends()
        counter = news.changes.get(generation.ANYTHING, 0)
        if counter != self.number:
            self._changed = news.answered
        is_continued = news.since >= 0 and counter >= self.number
        if not is_continued or news.changes.get(generation.EVERYTHING, 0) > self.number:
            self.era += 1
        if is_continued:
            self.on_changes([scope for scope, number in news.changes.items() if number > self.number])
            self.changes |= news.changes
        else:
            self.on_changes([generation.EVERYTHING])
            self.changes = dict(news.changes)
            self.is_complete = news.since < 0
        self.number = counter
        self._asked, self._word_asked = max(self._asked, news.asked), news.word
        return True

    async def keep(self) -> None:
        """Ask all the time, so that an outage finds this process knowing all that anybody was told of before."""
        while True:
            renewal = self._begin_renewal()
            await asyncio.wait([renewal], timeout=outage.PATIENCE)
            if not renewal.done() and self._connection is not None:
                outage.cut(self._connection)
            self.outage.share(is_well=renewal.done() and renewal.result())
            await asyncio.sleep(outage.ASK_EVERY)

    def may_serve_stale(self) -> bool:
        """Whether the database is away and this process knows all changes before. In any thread."""
        return self.outage.lasts() and self._word[0] == self._word_asked

    async def has_outage(self) -> bool:
        """As `may_serve_stale`, after a second look where one question has failed."""
        if self.outage.since is not None and not self.outage.is_sure:
            await asyncio.wait([self._begin_renewal()], timeout=self._patience)
        return self.may_serve_stale()

    async def run_out(self) -> bool:
        """Wait until no process repeats what was before any change that is committed by now.

        False: the database went away before that is sure, and answers are repeated while it is away.
        """
        is_known = await self.renew()
        if not is_known:
            self._changed = time.monotonic()  # perhaps
        changed = self._changed
        if self._told < changed and self._peers is not None and self._peers.can_be_told:
            loop = asyncio.get_running_loop()
            if await loop.run_in_executor(self._thread, self._peers.tell):
                self._told = max(self._told, changed)
        remaining = changed + generation.LEASE_OUT - time.monotonic()
        if self._told < changed and remaining > 0:
            await asyncio.sleep(remaining)
            is_known = bool(self.outage.seconds) and await self.renew()
        return is_known or not self.outage.seconds

    @property
    def history(self) -> int:
        """The last change that ended everything, as a restore does: what went before it is of no use to anybody."""
        return self.changes.get(generation.EVERYTHING, 0)

    def is_current(self, scopes: Iterable[str], era: int, number: int) -> bool:
        """Tell whether what was answered then, and depends on these scopes, still holds."""
        if era != self.era:
            return False
        for scope in scopes:  # noqa: SIM110  # `all` takes twice as long, and each ready answer pays it
            if self.changes.get(scope, 0) > number:
                return False
        return True

    def _ask(self, since: int) -> News:
        """One query, on a connection of its own that no pool lends and no request closes."""
        asked = time.monotonic()
        if self._connection is None:
            self._connection, since = self._connect(), -1
        try:
            if self._peers is None:
                self._peers = self._join(self._connection)
                self._word = self._peers.word
            word = self._word[0]
            changes = generation.changes_since(self._connection, since)
        except BaseException:
            self._connection.close()
            self._connection = None
            raise
        return News(since, word, asked, time.monotonic(), changes)


# --- What holds under it -----------------------------------------------------------------------------------------

Key = tuple[str | bytes | None, ...]
Headers = tuple[tuple[bytes, bytes], ...]
# What an entry costs beside its body: key, dates, a place in the table.
ENTRY_BYTES = 1024


@dataclass(slots=True)
class Whole:
    """Sent bytes, shared by all entries that have the same."""

    status: int
    headers: Headers
    body: bytes
    name: bytes
    entries: int = 0

    @property
    def size(self) -> int:
        return ENTRY_BYTES + len(self.body) + sum(len(name) + len(value) for name, value in self.headers)


@dataclass(frozen=True, slots=True)
class Origin:
    """What Django's access line said about the request that brought the answer; equal requests have the same."""

    route: str = ""
    person: int | None = None
    release: int | None = None


@dataclass(slots=True)
class Entry:
    whole: Whole
    scopes: Collection[str]
    era: int
    number: int
    until: float
    download: Download | None
    origin: Origin = Origin()
    readers: str = ""  # of which namespace: theirs is the answer
    kept: float = 0.0  # while the database is away it may be repeated until then
    visibility: str = ""  # of that namespace


def whole_of(status: int, headers: Headers, body: bytes) -> Whole:
    name = hashlib.sha256(repr((status, headers)).encode() + b"\0" + body).digest()
    return Whole(status, headers, body, name)
