"""What was asked: questions byte for byte, requests known again, and the table of the answers that are ready.

An answer of the machine edges depends on the request's method, scheme, host, path, query, credentials, and on three
headers more. A header that stands in neither list below, or twice, goes to Django.

Any thread may look up a known request and an answer in the table: granian's own does. Questions are parsed on the event
loop.
"""

import hashlib
import marshal
import re
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from apps.releases.catalogue import downloads
from registry_site.front.lease import ENTRY_BYTES, Entry, Key, Lease, Whole
from registry_site.server import forwarded
from registry_site.server.access_lines import Line, access_lines

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

REQUEST_ID = b"x-request-id"
# Requests, and the bytes of one: what is longer is parsed each time. A known one takes 1.5 KB, and at worst 9 KB.
MOST = 2048
MOST_BYTES = 2048
# The last format that is the same for equal values, however they came to be.
_MARSHAL = 2

# The place of the credentials in a question's key, and what is there for all readers of a namespace.
CREDENTIALS = 5
READERS = "readers"


@dataclass(slots=True)
class Question:
    """`era` and `number` are the generation before anybody was asked.

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
    """Tell whether an answer may tell of a change, which may be a worker's, to whoever made it.

    Reads of the protocols do not: whoever reads there has not been told yet.
    """
    if path.startswith(_OCI):
        return method not in ("GET", "HEAD") and not _BLOBS.match(path)
    return not _TELLS_NOTHING.match(path)


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
    client: str
    line: Line
    address: str = ""


def known_of(question: Question, entry: Entry) -> Known:
    status = entry.whole.status
    user_agent = question.header(b"user-agent")
    line = access_lines.line_of(
        method=question.method,
        path=question.path,
        client=question.client,
        status=status,
        authorization=question.scheme_of_credentials.decode("latin-1"),
        user_agent=user_agent,
        client_version=question.header(b"x-terraform-version"),
        route=entry.origin.route,
        person=entry.origin.person,
        release=entry.origin.release,
    )
    return Known(question.key, status, downloads.client_of(user_agent), line, question.client)


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
            now = time.monotonic()
            if entry.until > now and self._is_current(entry):
                self._entries.move_to_end(key)
                return entry
            if entry.kept <= now or not self._is_current(entry):
                self._drop(key)
            return None

    def find_kept(self, key: Key) -> Entry | None:
        """As `find`, while the database is away: also what has ended by time, as long as it is true."""
        with self._lock:
            entry = self._entries.get(key)
            return entry if entry is not None and entry.kept > time.monotonic() and self._is_current(entry) else None

    def count(self, entry: Entry, *, is_hit: bool = False) -> None:
        """Count an answer that is sent."""
        counted = (entry.origin.route, entry.whole.status)
        with self._lock:
            self.hits += is_hit
            self.answers[counted] = self.answers.get(counted, 0) + 1

    def _is_current(self, entry: Entry) -> bool:
        return self._lease.is_current(entry.scopes, entry.era, entry.number)

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


def _size(key: Key) -> int:
    return ENTRY_BYTES + sum(len(part) for part in key if part)
