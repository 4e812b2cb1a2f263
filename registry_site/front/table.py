"""The table of ready answers, for any thread: bounded in bytes, the least recently used goes first, each body once."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass

from registry_site.front.lease import Lease
from registry_site.front.questions import Key

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
    noted: Callable[[str], object] | None
    origin: Origin = Origin()


class Table:
    def __init__(self, lease: Lease, *, most_bytes: int) -> None:
        self._lease = lease
        self._most_bytes = most_bytes
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._wholes: dict[bytes, Whole] = {}
        self._lock = threading.Lock()
        self.bytes = self.hits = 0
        # By route and status.
        self.answers: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Key) -> Entry | None:
        """The entry if it still holds, under a lease that the caller has checked."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry.until <= time.monotonic() or not self._lease.is_current(entry.scopes, entry.era, entry.number):
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            self.hits += 1
            self._count(entry)
            return entry

    def count(self, entry: Entry) -> None:
        """Count an answer that did not come from here."""
        with self._lock:
            self._count(entry)

    def _count(self, entry: Entry) -> None:
        counted = (entry.origin.route, entry.whole.status)
        self.answers[counted] = self.answers.get(counted, 0) + 1

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def add(self, key: Key, entry: Entry) -> None:
        with self._lock:
            self._drop(key)
            if entry.whole.size + _size(key) > self._most_bytes // 4:
                return  # it would push out too many others
            entry.whole = self._wholes.setdefault(entry.whole.name, entry.whole)
            self._entries[key] = entry
            entry.whole.entries += 1
            self.bytes += _size(key) + (entry.whole.size if entry.whole.entries == 1 else 0)
            while self.bytes > self._most_bytes:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        entry.whole.entries -= 1
        self.bytes -= _size(key)
        if not entry.whole.entries:
            self.bytes -= entry.whole.size
            del self._wholes[entry.whole.name]


def whole_of(status: int, headers: Headers, body: bytes) -> Whole:
    name = hashlib.sha256(repr((status, headers)).encode() + b"\0" + body).digest()
    return Whole(status, headers, body, name)


def _size(key: Key) -> int:
    return ENTRY_BYTES + sum(len(part) for part in key if part)
