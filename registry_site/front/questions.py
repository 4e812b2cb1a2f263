"""A request as the front understands it: all that an answer may depend on, byte for byte, or no question at all.

An answer of the machine edges depends on the request's method, scheme, host, path, query, credentials, and on three
headers more. A header that stands in neither list below, or twice, goes to Django.

Questions are parsed on the event loop. Any thread may look up a request that was answered before: granian's own does.
"""

import hashlib
import marshal
import time
from dataclasses import dataclass
from typing import Any

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
