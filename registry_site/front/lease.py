"""The read lease of 0.5 s under which this process repeats answers, and the wait until that of all others has ended;
and the answers that hold under it, with what shares them: a file among processes, the cache among hosts.

Runs on the event loop, except the one query that renews the lease, and what asks the cache (backends/other_hosts.py):
each has a thread of its own.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit import generation
from apps.http.ready import Download
from registry_site.backends.other_hosts import OtherHosts
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


# --- What holds under it, and answers of other processes -----------------------------------------------------------

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


FILE = settings.DATA_DIR / "ready.sqlite3"
PAGE_BYTES = 4096
_FILES = ("", "-wal", "-shm")


def begin_sharing(file: Path = FILE) -> None:
    """Create it empty, for this user alone, before any process opens it. Raises OSError and sqlite3.Error."""
    for suffix in _FILES:
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(
            "CREATE TABLE ready (key BLOB PRIMARY KEY, number INTEGER, until REAL, "
            "status INTEGER, body BLOB, more TEXT)"
        )


class Shared:
    """Ready answers of the other web processes of this host, in a file of SQLite's, and of other hosts (D16).

    All hold under the same generation. On the event loop: a look into the file takes 25 µs, and what is locked, damaged
    or full counts as empty. It begins empty with each start of the web server, since another version of Larder may
    answer differently.
    """

    def __init__(self, file: Path | None, *, most_bytes: int = 0, hosts: OtherHosts | None = None) -> None:
        self._file = file
        self._most_bytes = most_bytes
        self.hosts = hosts
        self._connection: sqlite3.Connection | None = None

    def find(self, key: Key, *, is_kept: bool = False) -> Entry | None:
        """The file's entry, or one kept for an outage. The caller checks that it holds. `era` is a process's own."""
        rows = self._do("SELECT number, until, status, body, more FROM ready WHERE key = ?", [_name(key)])
        if not rows:
            return None
        entry = _entry_of(*rows[0])
        # By the clock of the host: all processes have the same.
        return entry if (entry.kept if is_kept else entry.until) > time.monotonic() else None

    async def find_elsewhere(self, keys: Iterable[Key], lease: Lease) -> dict[Key, Entry]:
        """What other hosts were answered: likewise."""
        if self.hosts is None:
            return {}
        names = {self.hosts.name(lease.history, _name(key)): key for key in keys}
        found = {}
        for name, (text, until) in (await self.hosts.find(names)).items():
            head, _, body = text.partition(b"\n")
            number, status, more = json.loads(head)
            found[names[name]] = _entry_of(number, until, status, body, more)
        return found

    def add(self, key: Key, entry: Entry, lease: Lease) -> None:
        whole, more, name = entry.whole, _more_of(entry), _name(key)
        row = [name, entry.number, entry.until, whole.status, whole.body, more]
        if self._do("INSERT OR REPLACE INTO ready VALUES (?, ?, ?, ?, ?, ?)", row) is None:
            self._do("DELETE FROM ready WHERE until < ?", [time.monotonic()])
        # The file ends with the start that began it. The cache does not, so nothing of another database may come in.
        if self.hosts is not None and entry.until and lease.is_current(entry.scopes, entry.era, entry.number):
            head = json.dumps([entry.number, whole.status, more]).encode()
            self.hosts.add(self.hosts.name(lease.history, name), head + b"\n" + whole.body, entry.until)

    def _do(self, statement: str, values: list[object]) -> list[tuple[Any, ...]] | None:
        """The rows, or None where it failed."""
        if self._file is None:
            return None
        try:
            if self._connection is None:
                self._connection = self._connect(self._file)
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.Error:
            return None

    def _connect(self, file: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=0)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA max_page_count = {self._most_bytes // PAGE_BYTES}")
        return connection


def _name(key: Key) -> bytes:
    """A digest: the file keeps no secrets but those of the answers."""
    return hashlib.sha256(repr(key).encode()).digest()


def _more_of(entry: Entry) -> str:
    origin = entry.origin
    more = {
        "headers": [(name.decode("latin-1"), value.decode("latin-1")) for name, value in entry.whole.headers],
        "scopes": list(entry.scopes),
        "download": entry.download,
        "origin": (origin.route, origin.person, origin.release),
        "readers": entry.readers,
        "kept": entry.kept,
        "visibility": entry.visibility,
    }
    return json.dumps(more)


def _entry_of(number: int, until: float, status: int, body: bytes, text: str) -> Entry:
    more = json.loads(text)
    headers: Headers = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in more["headers"])
    download = Download(*more["download"]) if more["download"] else None
    whole = whole_of(status, headers, body)
    origin, kept = Origin(*more["origin"]), more["kept"]
    return Entry(whole, more["scopes"], -1, number, until, download, origin, more["readers"], kept, more["visibility"])
