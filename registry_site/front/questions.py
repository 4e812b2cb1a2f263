"""A request as the front understands it: all that an answer may depend on, byte for byte, or no question at all.

An answer of the machine edges depends on the request's method, scheme, host, path, query, credentials, and on two
headers more. A header that stands in neither list below, or twice, goes to Django.
"""

import asyncio
import hashlib
import time
from dataclasses import dataclass
from typing import Any

from registry_site.server import forwarded

# In the key, with the authorization as its digest: the table keeps no secrets.
KEYED = (b"host", b"accept-encoding", b"if-none-match")
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

Key = tuple[str | bytes | None, ...]


@dataclass(slots=True)
class Question:
    """`era` and `number` are the generation before Django was asked; equal requests wait for `asking`."""

    key: Key
    method: str
    path: str
    client: str
    scheme_of_credentials: bytes
    headers: dict[bytes, bytes]
    at: float
    era: int = -1
    number: int = -1
    asking: asyncio.Future[bool] | None = None

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
    if b"host" not in headers:
        return None
    credentials = headers.get(b"authorization")
    client, scheme = _origin(
        str((scope.get("client") or ("",))[0]),
        scope["scheme"],
        headers.get(b"x-forwarded-for", b""),
        headers.get(b"x-forwarded-proto", b""),
    )
    path = scope["path"]
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
