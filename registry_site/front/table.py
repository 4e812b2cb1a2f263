"""The questions of requests, byte for byte, and the table of the answers that are ready.

An answer of the machine edges depends on the request's method, scheme, host, path, query, credentials, and on three
headers more. A header that stands in neither list below, or twice, goes to Django. Runs on the event loop.
"""

import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from apps.http.ready import Download
from registry_site.front.changes import Changes
from registry_site.server import forwarded

Key = tuple[str | bytes | None, ...]
Headers = tuple[tuple[bytes, bytes], ...]

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
# Below these paths nothing tells of a change to whoever made it: protocol reads, files that are named by their
# content, and static files.
_TELLS_NOTHING = re.compile(r"/(?:v1|archives|static|\.well-known)/|/(?:healthz|readyz|metrics)\Z")
_OCI = "/v2/"
_BLOBS = re.compile(r"/v2/.+/blobs/")
# Of these the front answers a part.
ARCHIVES = "/archives/"
MIRROR = "/v1/mirror/"
_ANY_LINK = f"{ARCHIVES}*/"

# The place of the credentials in a question's key, and what is there for all readers of a namespace.
CREDENTIALS = 5
READERS = "readers"


@dataclass(slots=True)
class Question:
    """`era` and `number` are the generation before the request was passed on.

    Who asks first does so for all that wait for `waited_for`, which is the key, or that of the right to read a
    namespace. `opened_blob`: the blob that the asker may read while the database is away, which Django reads from
    storage.
    """

    key: Key
    method: str
    path: str
    client: str
    scheme_of_credentials: bytes
    headers: dict[bytes, bytes]
    at: float
    era: int = -1
    number: int = -1
    waited_for: Key = ()
    is_first: bool = False
    opened_blob: str = ""

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
    has_parts = path.startswith(ARCHIVES) or _BLOBS.match(path)
    if b"host" not in headers or (b"range" in headers and not has_parts):
        return None
    credentials = headers.get(b"authorization")
    client, scheme = _client_and_scheme(
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
    scheme_of_credentials = (credentials or b"none").partition(b" ")[0]
    return Question(key, method, path, client, scheme_of_credentials, headers, time.monotonic(), waited_for=key)


def for_readers(key: Key) -> Key:
    """The key of the same question by any reader of the namespace."""
    return with_credentials(key, READERS)


def with_credentials(key: Key, credentials: str | bytes | None) -> Key:
    return (*key[:CREDENTIALS], credentials, *key[CREDENTIALS + 1 :])


def for_links(key: Key) -> Key:
    """The key of the same bytes by any link that carries its own permission."""
    method, scheme, path, _, *others = key
    *_, digest, file_name = str(path).split("/")
    return (method, scheme, f"{_ANY_LINK}{digest}/{file_name}", None, *others)


def without_condition(key: Key, *, method: str = "") -> Key:
    """The key of the same question without If-None-Match, or by another method."""
    place = CREDENTIALS + 1 + KEYED.index(b"if-none-match")
    return (method or key[0], *key[1:place], None, *key[place + 1 :])


def of_anybody(key: Key) -> Key:
    """The key of the same question without credentials."""
    return with_credentials(key, None)


def may_tell(method: str, path: str) -> bool:
    """Return whether an answer may tell the maker of a change, which may be a worker's, that it was made.

    Reads of the protocols do not: their readers have not been told yet.
    """
    if path.startswith(_OCI):
        return method not in ("GET", "HEAD") and not _BLOBS.match(path)
    return not _TELLS_NOTHING.match(path)


def _client_and_scheme(peer: str, scheme: str, forwarded_for: bytes, forwarded_proto: bytes) -> tuple[str, str]:
    """The client and the scheme as Django sees them."""
    environ = {
        "REMOTE_ADDR": peer,
        "wsgi.url_scheme": scheme,
        "HTTP_X_FORWARDED_FOR": forwarded_for.decode("latin-1"),
        "HTTP_X_FORWARDED_PROTO": forwarded_proto.decode("latin-1"),
    }
    forwarded.decide(environ)
    return environ["REMOTE_ADDR"], environ["wsgi.url_scheme"]


# --- The table ------------------------------------------------------------------------------------------------------

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
class AccessFields:
    """The fields of the access line that Django wrote about the request of an answer; equal requests have the same."""

    route: str = ""
    person: int | None = None
    release: int | None = None
    token: int | None = None  # not in the line: downloads are counted by it


@dataclass(slots=True)
class Entry:
    whole: Whole
    scopes: Collection[str]
    era: int
    number: int
    until: float
    download: Download | None
    access: AccessFields = AccessFields()
    readers: str = ""  # of which namespace: theirs is the answer
    kept: float = 0.0  # while the database is away it may be repeated until then
    visibility: str = ""  # of that namespace


def whole_of(status: int, headers: Headers, body: bytes) -> Whole:
    name = hashlib.sha256(repr((status, headers)).encode() + b"\0" + body).digest()
    return Whole(status, headers, body, name)


class Table:
    def __init__(self, changes: Changes, *, most_bytes: int) -> None:
        self._changes = changes
        self._most_bytes = most_bytes
        self._entries: OrderedDict[Key, Entry] = OrderedDict()
        self._wholes: dict[bytes, Whole] = {}
        self.bytes = self.hits = 0
        # By route and status.
        self.answers: dict[tuple[str, int], int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Key) -> Entry | None:
        """The entry if it holds, by the changes that this process knows."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = time.monotonic()
        if entry.until > now and self._is_current(entry):
            self._entries.move_to_end(key)
            return entry
        if entry.kept <= now or not self._is_current(entry):
            self._drop(key)
        return None

    def find_kept(self, key: Key) -> Entry | None:
        """Find the entry like `find`, while the database is away: also what has ended by time, as long as it is
        true.
        """
        entry = self._entries.get(key)
        return entry if entry is not None and entry.kept > time.monotonic() and self._is_current(entry) else None

    def count(self, entry: Entry, *, is_hit: bool = False) -> None:
        """Count an answer that is sent."""
        counted = (entry.access.route, entry.whole.status)
        self.hits += is_hit
        self.answers[counted] = self.answers.get(counted, 0) + 1

    def _is_current(self, entry: Entry) -> bool:
        return self._changes.is_current(entry.scopes, entry.era, entry.number)

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def add(self, key: Key, entry: Entry) -> None:
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


def _size(key: Key) -> int:
    return ENTRY_BYTES + sum(len(part) for part in key if part)
