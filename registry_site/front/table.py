"""What was asked and what was answered: questions byte for byte, requests known again, and the table of ready answers.

An answer of the machine edges depends on the request's method, scheme, host, path, query, credentials, and on three
headers more. A header that stands in neither list below, or twice, goes to Django.

Any thread may look up a known request and an answer in the table: granian's own does. Questions are parsed, and the
answers of other processes (`Shared`) read and written, on the event loop.
"""

import contextlib
import hashlib
import json
import marshal
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from apps.http.ready import Download
from registry_site.front.lease import Lease
from registry_site.server import forwarded
from registry_site.server.access_lines import Line

# In the key, with the authorization as its digest: the table keeps no secrets.
KEYED = (b"host", b"accept-encoding", b"if-none-match", b"range")
# Noted or logged, or left out by the machine edges. What may stand here more than once is in `LEFT_OUT`.
NOTED = (b"user-agent", b"x-request-id", b"x-terraform-version")
FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto")
ONCE = frozenset({*KEYED, *NOTED, *FORWARDED, b"authorization"})
LEFT_OUT = frozenset(
    (
        b"accept accept-language cache-control connection dnt forwarded keep-alive origin pragma priority referer te "
        b"sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user "
        b"traceparent tracestate upgrade-insecure-requests via x-amzn-trace-id x-cloud-trace-context x-forwarded-host "
        b"x-forwarded-port x-forwarded-server x-real-ip"
    ).split()
)
# Only below this path the front answers a part.
ARCHIVES = "/archives/"

REQUEST_ID = b"x-request-id"
# Requests, and the bytes of one: what is longer is parsed each time. A known one takes 1.5 KB, and at worst 9 KB.
MOST = 2048
MOST_BYTES = 2048
# The last format that is the same for equal values, however they came to be.
_MARSHAL = 2

Key = tuple[str | bytes | None, ...]


@dataclass(slots=True)
class Question:
    """`era` and `number` are the generation before anybody was asked; equal requests wait under the key `asked_as`."""

    key: Key
    method: str
    path: str
    client: str
    scheme_of_credentials: bytes
    headers: dict[bytes, bytes]
    at: float
    era: int = -1
    number: int = -1
    asked_as: Key | None = None

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


def question_of(scope: Any) -> Question | None:
    method = scope["method"]
    if method not in ("GET", "HEAD"):
        return None
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in LEFT_OUT:
            continue
        if name not in ONCE or name in headers:
            return None
        headers[name] = value
    path = scope["path"]
    if b"host" not in headers or (b"range" in headers and not path.startswith(ARCHIVES)):
        return None
    credentials = headers.get(b"authorization")
    client, scheme = _origin(
        str((scope.get("client") or ("",))[0]),
        scope["scheme"],
        headers.get(b"x-forwarded-for", b""),
        headers.get(b"x-forwarded-proto", b""),
    )
    key = (
        method,
        scheme,
        path,
        scope.get("raw_path"),
        scope["query_string"],
        None if credentials is None else hashlib.sha256(credentials).digest(),
        *(headers.get(name) for name in KEYED),
    )
    return Question(key, method, path, client, (credentials or b"none").partition(b" ")[0], headers, time.monotonic())


def _origin(peer: str, scheme: str, forwarded_for: bytes, forwarded_proto: bytes) -> tuple[str, str]:
    """The client and the scheme as Django sees them."""
    environ = {
        "REMOTE_ADDR": peer,
        "wsgi.url_scheme": scheme,
        "HTTP_X_FORWARDED_FOR": forwarded_for.decode("latin-1"),
        "HTTP_X_FORWARDED_PROTO": forwarded_proto.decode("latin-1"),
    }
    forwarded.decide(environ)
    return environ["REMOTE_ADDR"], environ["wsgi.url_scheme"]


@dataclass(frozen=True, slots=True)
class Known:
    """The request's question, and what its access line and the download count need."""

    key: Key
    status: int
    user_agent: str
    line: Line


class Recognition:
    """Requests that were answered from the table, so that the next equal one is neither parsed nor described again.

    Equal means: in every byte that a question is made of, and in all headers except the request's own id. A request is
    known by a digest: the process keeps no secrets.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Known] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, scope: Any) -> tuple[Known | None, str]:
        """The known request, and the id that this one asks for."""
        data, asked = _apart(scope)
        return (self._known.get(hashlib.sha256(data).digest()), asked) if data else (None, asked)

    def add(self, scope: Any, known: Known) -> None:
        """Keep it, and if there are too many, let the one go that came first."""
        data, _ = _apart(scope)
        if not data or len(data) > MOST_BYTES:
            return
        if len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)))
        self._known[hashlib.sha256(data).digest()] = known


def _apart(scope: Any) -> tuple[bytes, str]:
    """Everything that counts, nothing if the id comes twice; and the id."""
    headers = scope["headers"]
    asked = dict(headers).get(REQUEST_ID)
    if asked is not None:
        others = [header for header in headers if header[0] != REQUEST_ID]
        if len(headers) - len(others) > 1:
            return b"", ""
        headers = others
    peer = (scope.get("client") or ("",))[0]
    target = (scope["method"], scope["scheme"], scope["path"], scope.get("raw_path"), scope["query_string"])
    return marshal.dumps((target, peer, headers), _MARSHAL), (asked or b"").decode("latin-1")


# --- The table ------------------------------------------------------------------------------------------------------

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


# --- Answers of other processes ---------------------------------------------------------------------------------------

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
    """Ready answers of the other web processes of this host, in a file of SQLite's, under the same generation (D16).

    On the event loop: a look takes 25 µs, and what is locked, damaged or full counts as empty. The file begins anew
    with each start of the web server, since another version of Larder may answer differently. `file` is None where no
    other process answers.
    """

    def __init__(self, file: Path | None, *, most_bytes: int = 0) -> None:
        self._file = file
        self._most_bytes = most_bytes
        self._connection: sqlite3.Connection | None = None

    def find(self, key: Key) -> Entry | None:
        """The entry, of which the caller checks whether it holds. `era` is missing: it is a process's own."""
        rows = self._do("SELECT number, until, status, body, more FROM ready WHERE key = ?", [_name(key)])
        if not rows:
            return None
        number, until, status, body, text = rows[0]
        if until <= time.monotonic():  # the clock of the host: all processes have the same
            return None
        more = json.loads(text)
        headers: Headers = tuple((name.encode("latin-1"), value.encode("latin-1")) for name, value in more["headers"])
        download = Download(*more["download"]) if more["download"] else None
        whole = whole_of(status, headers, body)
        return Entry(whole, more["scopes"], -1, number, until, download, Origin(*more["origin"]))

    def add(self, key: Key, entry: Entry) -> None:
        whole, origin = entry.whole, entry.origin
        more = {
            "headers": [(name.decode("latin-1"), value.decode("latin-1")) for name, value in whole.headers],
            "scopes": list(entry.scopes),
            "download": entry.download,
            "origin": (origin.route, origin.person, origin.release),
        }
        row = [_name(key), entry.number, entry.until, whole.status, whole.body, json.dumps(more)]
        if self._do("INSERT OR REPLACE INTO ready VALUES (?, ?, ?, ?, ?, ?)", row) is None:
            self._do("DELETE FROM ready WHERE until < ?", [time.monotonic()])

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
