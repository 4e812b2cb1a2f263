"""One request to a registry, with all that guards it: breaker, connections, token, retries, record of failures."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http import HTTPStatus
from threading import BoundedSemaphore, Lock
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.utils import timezone

from apps.contrib.mirror.asking import breaker, routes
from apps.contrib.mirror.errors import FetchFailed
from apps.contrib.mirror.models import Upstream
from apps.lib.net import fetching
from apps.lib.net.outgoing import NotAnswered
from apps.lib.process import outside

USER_AGENT = "Larder (provider mirror)"
# Pauses before another try, in seconds; a random part of each is added.
PAUSES = (0.3, 1.0)
# What a registry asks for is waited for here, or else left to the caller and the breaker.
MAX_WAIT_SECONDS = 5.0
MAX_RETRY_AFTER = 3600.0
# For a free connection to the host.
MAX_QUEUE_SECONDS = 60.0

_CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    407: "proxy_failed",
    410: "not_found",
    429: "too_many_requests",
}
_SERVER_ERROR = "server_error"
# What may pass, and is tried again at once. A registry that was too slow has had its time.
_PASSING = {"unreachable", "unresolved", "connection_failed", "proxy_failed", "too_many_requests", _SERVER_ERROR}
# The registry is unwell: these open its breaker. Refusals by rule and trust, and other 4xx, say nothing of that.
_UNWELL = {*_PASSING, "too_slow", "truncated"}
# Nothing was asked.
_UNASKED = {"breaker_open", "busy"}
_MISSING = "not_found"

log = structlog.get_logger("larder.upstream")


@dataclass(frozen=True, slots=True)
class Request:
    """`closes`: an answer ends a series of failures. `accepts_any_status`: the caller knows what to do with a 4xx.

    `is_long`: the answer can take minutes; of several connections one is left for what does not. `may_be_empty`: 204 is
    a good answer too.
    """

    method: str
    url: str
    limits: fetching.Limits
    accept: str = "*/*"
    headers: Mapping[str, str] = field(default_factory=dict)
    closes: bool = True
    accepts_any_status: bool = False
    is_long: bool = False
    may_be_empty: bool = False


class _Connections:
    """The limit on requests of this process that are under way, for each host."""

    def __init__(self) -> None:
        self._free: dict[tuple[str, int, bool], BoundedSemaphore] = {}
        self._lock = Lock()

    @contextmanager
    def one_to(self, host: str, request: Request) -> Iterator[None]:
        limit = settings.UPSTREAM.connections
        with ExitStack() as taken:
            if request.is_long:
                self._take(taken, request, (host, max(1, limit - 1), True))
            self._take(taken, request, (host, limit, False))
            yield

    def _take(self, taken: ExitStack, request: Request, which: tuple[str, int, bool]) -> None:
        limit = which[1]
        with self._lock:
            free = self._free.setdefault(which, BoundedSemaphore(limit))
        if not free.acquire(timeout=MAX_QUEUE_SECONDS):
            text = f"all {limit} connections to the host were busy for {MAX_QUEUE_SECONDS:.0f} s"
            raise FetchFailed("busy", text, url=routes.shown(request.url), rule="connections")
        taken.callback(free.release)


_connections = _Connections()


@dataclass(frozen=True, slots=True)
class _Call:
    """A request, and what of the registry's row it needs: to ask then takes no database."""

    request: Request
    route: fetching.Route
    authorization: str


@contextmanager
def asked(upstream: Upstream, request: Request) -> Iterator[fetching.Response]:
    """Yield a good answer. Its chunks raise NotAnswered, which becomes FetchFailed here, as all that goes wrong."""
    try:
        with _converted(request), _connections.one_to(_host_of(request), request), ExitStack() as stack:
            yield _opened(stack, _prepared(upstream, request))
    except FetchFailed as failure:
        _record(upstream, request, failure)
        raise
    _record_success(upstream, request)


def bodies(upstream: Upstream, requests: Sequence[Request], sizes: Sequence[int]) -> list[bytes]:
    """Return the bodies of several answers, asked for at the same time. `sizes`: the largest of each, in bytes.

    Threads ask. The database is left to this one, to which a try that a breaker lets through belongs as well.
    """
    calls: list[_Call | FetchFailed] = []
    for request in requests:
        try:
            calls.append(_prepared(upstream, request))
        except FetchFailed as failure:
            calls.append(failure)
    outside.give_back()
    with ThreadPoolExecutor(len(requests), thread_name_prefix="upstream-body") as pool:
        answers = list(pool.map(_body, calls, sizes))
    for request, answer in zip(requests, answers, strict=True):
        if isinstance(answer, FetchFailed):
            _record(upstream, request, answer)
        else:
            _record_success(upstream, request)
    for answer in answers:
        if isinstance(answer, FetchFailed):
            raise answer
    return [answer for answer in answers if isinstance(answer, bytes)]


def _body(call: _Call | FetchFailed, max_bytes: int) -> bytes | FetchFailed:
    """Ask without the database."""
    if isinstance(call, FetchFailed):
        return call
    request = call.request
    try:
        with _converted(request), _connections.one_to(_host_of(request), request), ExitStack() as stack:
            return b"".join(_opened(stack, call).chunks(max_bytes))
    except FetchFailed as failure:
        return failure


def _host_of(request: Request) -> str:
    return urlsplit(routes.shown(request.url)).netloc


def _prepared(upstream: Upstream, request: Request) -> _Call:
    """Raises FetchFailed while the breaker is open, or for settings that cannot be used."""
    _check_breaker(upstream, request)
    route = routes.route_of(upstream, request.url)
    return _Call(request, route, routes.authorization_for(upstream, request.url))


def _opened(stack: ExitStack, call: _Call) -> fetching.Response:
    """Ask until there is a good answer, a few times."""
    request = call.request
    headers = {"User-Agent": USER_AGENT, "Accept": request.accept, **request.headers}
    for pause in (*PAUSES, None):
        attempt = ExitStack()
        try:
            with _converted(request), attempt:
                said = attempt.enter_context(
                    fetching.opened(
                        request.method,
                        request.url,
                        headers=headers,
                        route=call.route,
                        limits=request.limits,
                        authorization=call.authorization,
                    )
                )
                _check_status(said, request)
                stack.push(attempt.pop_all())
                return said
        except FetchFailed as failure:
            wait = _wait_before_next(failure, pause)
            if wait is None:
                raise
            time.sleep(wait)
    raise AssertionError("the last try raises or returns")


def _check_breaker(upstream: Upstream, request: Request) -> None:
    if routes.is_own_host(upstream, request.url):
        wait = breaker.wait_of(upstream)
    else:
        wait = breaker.hosts.wait_of(upstream, _host_of(request))
    if wait:
        text = f"nothing is asked for {max(1, round(wait))} s, because the host failed before or asked for rest"
        raise FetchFailed("breaker_open", text, url=routes.shown(request.url), rule="breaker", retry_after=wait)


def _check_status(said: fetching.Response, request: Request) -> None:
    status = said.status
    accepted = {HTTPStatus.OK}
    if request.may_be_empty:
        accepted.add(HTTPStatus.NO_CONTENT)
    if "Range" in request.headers:
        accepted.add(HTTPStatus.PARTIAL_CONTENT)
    if {"If-None-Match", "If-Modified-Since"} & set(request.headers):
        accepted.add(HTTPStatus.NOT_MODIFIED)
    if status in accepted or request.accepts_any_status:
        return
    is_server_error = status // 100 == 5  # noqa: PLR2004
    code = _SERVER_ERROR if is_server_error else _CODES.get(status, "unexpected_status")
    may_pass = is_server_error or status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.REQUEST_TIMEOUT)
    raise FetchFailed(
        code,
        f"the answer was {status}{_phrase(status)}",
        url=routes.shown(said.url),
        status=status,
        retry_after=retry_after_of(said.headers) if may_pass else 0,
        is_final=not may_pass,
    )


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def retry_after_of(headers: Message) -> float:
    """Return for how many seconds a server asks for rest, at most an hour; 0 if it names none."""
    text = str(headers.get("Retry-After") or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:10]), MAX_RETRY_AFTER)
    until = routes.moment_of(text)
    if until is None:
        return 0
    now = routes.moment_of(str(headers.get("Date") or "")) or timezone.now()  # its clock may differ from ours
    return min(max(0.0, (until - now).total_seconds()), MAX_RETRY_AFTER)


def _wait_before_next(failure: FetchFailed, pause: float | None) -> float | None:
    """Return the pause before another try, None if there is none."""
    if pause is None or failure.code not in _PASSING or failure.status == HTTPStatus.NOT_IMPLEMENTED:
        return None
    if failure.retry_after > MAX_WAIT_SECONDS:
        return None
    return max(failure.retry_after, pause) * random.uniform(1, 1.5)  # noqa: S311  # no secret


@contextmanager
def _converted(request: Request) -> Iterator[None]:
    try:
        yield
    except NotAnswered as error:
        raise FetchFailed(
            error.code,
            str(error),
            url=routes.shown(error.url or request.url),
            rule=error.rule,
            is_final=error.code not in _UNWELL,
        ) from None


def _record_success(upstream: Upstream, request: Request) -> None:
    if routes.is_own_host(upstream, request.url):
        breaker.succeeded(upstream, closes=request.closes)
    elif request.closes:
        breaker.hosts.succeeded(upstream, _host_of(request))


def _record(upstream: Upstream, request: Request, failure: FetchFailed) -> None:
    """Write it to the log and the row. A provider that a registry does not have is no failure of the registry."""
    log.warning(
        "upstream_failed",
        upstream=upstream.host,
        url=failure.url,
        status=failure.status,
        rule=failure.rule,
        code=failure.code,
        reason=failure.message,
    )
    if failure.code in _UNASKED:
        return
    is_unwell = failure.code in _UNWELL
    if not routes.is_own_host(upstream, request.url):
        if is_unwell:
            breaker.hosts.failed(upstream, _host_of(request), retry_after=failure.retry_after)
        breaker.record(upstream, failure.as_json())
    elif failure.code == _MISSING and request.closes:
        breaker.succeeded(upstream, closes=True)
    else:
        breaker.failed(upstream, failure.as_json(), counts=is_unwell, retry_after=failure.retry_after)
