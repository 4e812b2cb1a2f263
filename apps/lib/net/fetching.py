"""Exchanges over HTTP with addresses that others choose.

`opened` reads what lies at a URL, however large it is: through a proxy, after redirects, while it streams. `exchange`
sends one request and reads a bounded answer; `post` is for webhooks. No `.netrc`, no decompression.

The rules of `outgoing.py` hold for every hop: all addresses of a name are checked, and the connection goes to one of
those. The time limits are enforced by a watch that shuts the connection, because the time-outs of a socket begin again
with every byte. Resolving a name is outside of them: the resolver has its own.

With a proxy, names are resolved by the proxy, so Larder cannot know where they lead: the proxy must refuse private
addresses itself. Larder still refuses literal private addresses in any spelling, names without a dot, and everything
but https on port 443, unless networks are allowed. The proxy's own address is the operator's choice.
"""

import http.client
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from functools import lru_cache
from pathlib import Path
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from apps.lib.errors import Invalid
from apps.lib.net.addresses import ANYWHERE, Networks, check_parts, parts_of, port_of
from apps.lib.net.outgoing import (
    NOT_TRUSTED,
    PRIVATE_ADDRESS,
    TOO_SLOW,
    NotAnswered,
    connected,
    proxy_authorization,
    resolved,
    tunnelled,
)
from apps.lib.net.watching import Watch
from apps.lib.process import outside
from apps.lib.settings_values.outgoing import Outgoing

LEFT_ALONE = "left_alone"  # it was not asked
MAX_SECONDS = 10.0
MAX_ANSWER_BYTES = 4096
# Signed links of object storage are long.
MAX_URL_CHARACTERS = 8000
MAX_DIGITS = 18
STEP = 256 * 1024
REDIRECTS = (301, 302, 303, 307, 308)
# What may stand in a URL as it is; servers redirect to others, which are encoded.
_URL_CHARACTERS = "%/:?#[]@!$&'()*+,;=~"

_Request = tuple[str, Mapping[str, str | bytes], bytes | None]


@lru_cache(maxsize=64)
def trusting(ca_file: str, changed_at: int, pem: str) -> ssl.SSLContext:
    """Return a context that trusts the system's authorities, those of the file and those of the text.

    Raises OSError or ssl.SSLError for a file or text that cannot be read.
    """
    _ = changed_at  # a file that was replaced is read again
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(cafile=ca_file)
    if pem:
        context.load_verify_locations(cadata=pem)
    return context


@dataclass(frozen=True, slots=True)
class Limits:
    """`first_byte_seconds`: from the connection to the end of the headers, for each hop. `total_seconds`: for all."""

    connect_seconds: float = 5.0
    first_byte_seconds: float = 15.0
    total_seconds: float = 60.0
    min_bytes_per_second: float = 1024.0  # while Larder waits for the body, over a window
    window_seconds: float = 10.0
    max_redirects: int = 5


@dataclass(frozen=True, slots=True)
class Route:
    """The operators' settings for outgoing requests. `refuse` raises NotAnswered for a hop."""

    trusted: ssl.SSLContext = field(default_factory=lambda: trusting("", 0, ""))
    allowed: Networks = ()
    proxy: str = ""
    refuse: Callable[[SplitResult], None] = field(default=lambda _: None)


class Response:
    """A final answer, whatever its status. `url` is that of the last hop."""

    def __init__(self, answer: http.client.HTTPResponse, url: str, watch: Watch, limits: Limits, ends: float) -> None:
        self.status, self.headers, self.url = answer.status, answer.headers, url
        self._answer, self._watch, self._limits, self._ends = answer, watch, limits, ends

    @property
    def size(self) -> int | None:
        """The size that the server promises, also in its answer to HEAD."""
        text = str(self.headers.get("Content-Length") or "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None

    @property
    def location(self) -> str | None:
        found = self.headers.get("Location") if self.status in REDIRECTS else None
        return str(found) if found else None

    def chunks(self, max_bytes: int) -> Iterator[bytes]:
        """Yield the body. Raises NotAnswered for one that is too large, too slow or ends early."""
        encoding = str(self.headers.get("Content-Encoding") or "identity").lower()
        if encoding != "identity":
            text = f"the body is encoded with {encoding[:20]!r}, expected no encoding"
            raise NotAnswered(text, code="bad_encoding", rule="content_encoding")
        if self.size is not None and self.size > max_bytes:
            raise _too_large(f"{self.size:,} bytes", max_bytes)
        seen = 0
        for piece in self.pieces():
            seen += len(piece)
            if seen > max_bytes:
                raise _too_large("more", max_bytes)
            yield piece
        if self.missing:
            raise _truncated(f"{seen:,} of {seen + self.missing:,} bytes")

    @property
    def missing(self) -> int:
        """After the last piece: how many of the promised bytes did not come."""
        return self._answer.length or 0

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes. Only time that is spent waiting for the server counts as slow."""
        limits, got, waited = self._limits, 0, 0.0
        while True:
            began = time.monotonic()
            window_ends = began + limits.window_seconds - waited
            self._watch.limit((window_ends, "min_bytes_per_second"), (self._ends, "total_seconds"))
            with _told(self._watch, limits):
                piece = self._answer.read1(STEP)
            self._watch.limit((self._ends, "total_seconds"))
            if not piece:
                return
            waited, got = waited + time.monotonic() - began, got + len(piece)
            yield piece
            if got >= limits.min_bytes_per_second * limits.window_seconds:
                waited, got = 0.0, 0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Message
    body: bytes  # or its beginning, unless it is whole
    is_whole: bool

    @property
    def is_success(self) -> bool:
        return self.status // 100 == 2  # noqa: PLR2004

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace").replace("\0", "")


def post(url: str, *, body: bytes, headers: Mapping[str, str], way: Outgoing) -> Answer:
    """Send it once, and return the status and the beginning of the answer. Raises NotAnswered."""
    try:
        parts = parts_of(url)
        trusted = trusting(way.ca_file, Path(way.ca_file).stat().st_mtime_ns if way.ca_file else 0, "")
    except Invalid as error:
        raise NotAnswered(str(error)) from None
    except OSError as error:  # ssl.SSLError is one
        raise NotAnswered(f"LARDER_OUTGOING_CA_FILE cannot be read: {type(error).__name__}") from None
    route = Route(trusted, way.allow, way.proxy)
    return exchange(
        "POST", parts, body=body, headers=headers, route=route, seconds=MAX_SECONDS, max_bytes=MAX_ANSWER_BYTES
    )


def exchange(
    method: str,
    parts: SplitResult,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str | bytes],
    route: Route,
    seconds: float,
    max_bytes: int,
) -> Answer:
    """Send a request once, and return the answer with at most `max_bytes` of its body. Raises NotAnswered.

    Redirects are not followed. Once the status has come, it decides: of the rest there is as much as comes in time.
    """
    outside.give_back()
    limits = Limits(first_byte_seconds=seconds, total_seconds=seconds, window_seconds=seconds)
    found, is_whole = bytearray(), False
    try:
        with _answered((method, headers, body), parts, route=route, limits=limits, ends=float("inf")) as response:
            with suppress(NotAnswered):
                for piece in response.pieces():
                    found += piece
                    if len(found) > max_bytes:
                        break
                else:
                    is_whole = not response.missing
            return Answer(response.status, response.headers, bytes(found[:max_bytes]), is_whole)
    except NotAnswered as error:
        if error.code == TOO_SLOW:
            raise NotAnswered(f"no answer within {seconds:.0f} s", code=TOO_SLOW) from None
        raise


def left_alone() -> NotAnswered:
    return NotAnswered("it has not answered lately", code=LEFT_ALONE)


@contextmanager
def guarding(service: str, parts: SplitResult, route: Route) -> Iterator[None]:
    """Around an exchange with a host that may be away: then it is LEFT_ALONE, and the watch asks for its first page."""

    def probe() -> None:
        first, seconds = parts._replace(path="/", query="", fragment=""), outside.SILENCE_SECONDS
        with circuit.exchange(NotAnswered):  # any answer will do
            headers = {"User-Agent": "Larder"}
            exchange("GET", first, headers=headers, route=route, seconds=seconds, max_bytes=MAX_ANSWER_BYTES)

    circuit = outside.circuit_of(service, parts.netloc, left_alone, probe)
    with circuit.exchange(NotAnswered):
        yield


@contextmanager
def opened(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    route: Route,
    limits: Limits,
    authorization: str = "",
    body: bytes | None = None,
) -> Iterator[Response]:
    """GET or HEAD a URL, and follow redirects; POST a body with `max_redirects` of 0. Raises NotAnswered, with the URL
    of the hop.

    `authorization` goes to the origin of the URL alone, and not again once another one was asked.
    """
    outside.give_back()
    ends, seen = time.monotonic() + limits.total_seconds, [encoded(url)]
    while True:
        hop = seen[-1]
        with _naming(hop):
            parts = _checked(hop, route)
            if origin_of(parts) != origin_of(urlsplit(seen[0])):
                authorization = ""
            more = {"Authorization": authorization} if authorization else {}
            request: _Request = (method, {**headers, **more}, body)
            with _answered(request, parts, route=route, limits=limits, ends=ends) as response:
                if response.location is None:
                    yield response
                    return
                seen.append(_next(hop, response.location, seen, limits))


def _next(url: str, location: str, seen: list[str], limits: Limits) -> str:
    """Return where a redirect leads. Raises NotAnswered if it leads in a circle, or is one too many."""
    # http.client decodes headers as Latin-1.
    raw = location.encode("latin-1", "replace")
    try:
        found = urljoin(url, quote(raw, safe=_URL_CHARACTERS)).partition("#")[0]
    except ValueError:
        raise NotAnswered("the redirect leads to no URL", code="bad_redirect", rule="redirects") from None
    if found in seen:
        raise NotAnswered("the redirects lead in a circle", code="redirect_loop", rule="max_redirects")
    if len(seen) > limits.max_redirects:
        text = f"there are more than {limits.max_redirects} redirects"
        raise NotAnswered(text, code="too_many_redirects", rule="max_redirects")
    return found


def encoded(url: str) -> str:
    """Encode what URLs do not have, such as spaces and umlauts, and drop the fragment."""
    return quote(url, safe=_URL_CHARACTERS).partition("#")[0]


def origin_of(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, parts.hostname or "", port_of(parts)


def _checked(url: str, route: Route) -> SplitResult:
    try:
        parts = parts_of(url, max_characters=MAX_URL_CHARACTERS)
    except Invalid as error:
        raise NotAnswered(str(error), code="bad_url", rule="url") from None
    route.refuse(parts)
    if route.proxy:
        try:
            check_parts(parts, route.allowed)
        except Invalid as error:
            raise NotAnswered(str(error), code=PRIVATE_ADDRESS, rule=PRIVATE_ADDRESS) from None
    return parts


@contextmanager
def _answered(
    request: _Request,
    parts: SplitResult,
    *,
    route: Route,
    limits: Limits,
    ends: float,
) -> Iterator[Response]:
    method, headers, body = request
    there = urlsplit(route.proxy) if route.proxy else parts
    addresses = resolved(there, ANYWHERE if route.proxy else route.allowed, is_proxy=bool(route.proxy))
    ends = min(ends, time.monotonic() + limits.total_seconds)
    connection = connected(
        there, addresses, route.trusted, seconds=limits.connect_seconds, ends=ends, is_proxy=bool(route.proxy)
    )
    # The watch comes first. This ends what it could not.
    connection.sock.settimeout(1 + max(limits.first_byte_seconds, limits.window_seconds))
    watch = Watch(connection.sock)
    try:
        first = time.monotonic() + limits.first_byte_seconds
        watch.limit((first, "first_byte_seconds"), (ends, "total_seconds"))
        with ExitStack() as opened:
            with _told(watch, limits):
                if route.proxy and parts.scheme == "https":
                    connection = tunnelled(connection, parts, route.proxy, route.trusted)
                    watch.follow(connection.sock)
                if isinstance(connection.sock, ssl.SSLSocket):
                    connection.sock.do_handshake()
                target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                if route.proxy and parts.scheme == "http":
                    target = f"http://{parts.netloc}{target}"
                    headers = {**headers, **proxy_authorization(route.proxy)}
                connection.request(method, target, body, {**headers, "Accept-Encoding": "identity"})
                # Closed as well if the watch has cut it meanwhile.
                answer = opened.enter_context(connection.getresponse())
            yield Response(answer, parts.geturl(), watch, limits, ends)
    finally:
        watch.end()
        connection.close()


@contextmanager
def _told(watch: Watch, limits: Limits) -> Iterator[None]:
    """Say what the watch, TLS and http.client mean."""
    try:
        yield
        if watch.rule:  # http.client takes the end of a connection for that of the headers, or of a body without length
            raise TimeoutError
    except NotAnswered:
        raise
    except ssl.SSLCertVerificationError as error:
        text, why = "its certificate is not trusted", error.verify_message
        raise NotAnswered(text, code=NOT_TRUSTED, rule="certificate", tls=why) from None
    except http.client.IncompleteRead:
        if watch.rule:
            raise _too_slow(watch, limits) from None
        raise _truncated("a part") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if watch.rule or isinstance(error, TimeoutError):
            raise _too_slow(watch, limits) from None
        if isinstance(error, ssl.SSLError):
            why = (error.reason or "the connection ended").lower().replace("_", " ")
            raise NotAnswered("TLS failed", code="connection_failed", tls=why) from None
        raise NotAnswered(f"the connection failed: {type(error).__name__}", code="connection_failed") from None


@contextmanager
def _naming(url: str) -> Iterator[None]:
    try:
        yield
    except NotAnswered as error:
        error.url = error.url or url
        raise


def _too_slow(watch: Watch, limits: Limits) -> NotAnswered:
    texts = {
        "min_bytes_per_second": f"less than {limits.min_bytes_per_second:g} bytes a second for "
        f"{limits.window_seconds:g} s",
        "total_seconds": f"not finished within {limits.total_seconds:g} s",
    }
    rule = watch.rule or "first_byte_seconds"
    text = texts.get(rule, f"no answer within {limits.first_byte_seconds:g} s")
    return NotAnswered(text, code=TOO_SLOW, rule=rule)


def _too_large(found: str, max_bytes: int) -> NotAnswered:
    return NotAnswered(
        f"the body has {found}, expected at most {max_bytes:,} bytes", code="too_large", rule="max_bytes"
    )


def _truncated(found: str) -> NotAnswered:
    return NotAnswered(f"the body ended after {found}", code="truncated")
