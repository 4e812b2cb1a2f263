"""Requests to identity providers: the bounded exchange of lib/net/fetching, behind the classes that allauth uses. What
providers publish is remembered in each process.

Operators choose the providers, which are often in a private network, so any address is allowed.
"""

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from io import BytesIO
from threading import Lock
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlsplit

import certifi
import requests
import structlog
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from apps.lib.net import addresses, fetching
from apps.lib.net.outgoing import NOT_TRUSTED, TOO_SLOW, NotAnswered
from apps.lib.process import outside
from apps.lib.settings_values.identity_providers import IdentityProvider

MAX_SECONDS = 5.0
MAX_BYTES = 1024 * 1024
MAX_AGE_SECONDS = 3600.0
# A signature by an unknown key asks for the keys again, and strangers can send such a signature.
MIN_REFRESH_SECONDS = 60.0
# After a failure everyone else fails at once for so long: each would keep a thread until the time is over.
FAILURE_SECONDS = 10.0

Asked = TypeVar("Asked", bound=IdentityProvider)
Value = TypeVar("Value")
log = structlog.get_logger("larder.accounts")


class AnswerRefused(requests.RequestException):
    """The answer is too large or leads elsewhere. Callers of allauth handle its base class."""


class LeftAlone(requests.ConnectionError):
    """It was not asked."""


# The classes that callers of allauth handle; requests.ConnectionError for all else.
_CLASSES = {NOT_TRUSTED: requests.exceptions.SSLError, TOO_SLOW: requests.ReadTimeout, fetching.LEFT_ALONE: LeftAlone}


class _Bounded(BaseAdapter):
    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        where = urlsplit(str(request.url))
        route = fetching.Route(_trusted(), addresses.ANYWHERE)
        try:
            with fetching.guarding(outside.SIGN_ON, where, route):
                answer = fetching.exchange(
                    str(request.method),
                    where,
                    body=request.body.encode() if isinstance(request.body, str) else cast("bytes | None", request.body),
                    headers=request.headers,
                    route=route,
                    seconds=MAX_SECONDS,
                    max_bytes=MAX_BYTES,
                )
                if not answer.is_whole and len(answer.body) < MAX_BYTES:
                    raise NotAnswered("a part of the answer came, and no more", code=TOO_SLOW)
        except NotAnswered as error:
            raise _CLASSES.get(error.code, requests.ConnectionError)(str(error)) from None
        response = requests.Response()
        response.request, response.url, response.status_code = request, str(request.url), answer.status
        response.headers = CaseInsensitiveDict(answer.headers.items())
        response.encoding = get_encoding_from_headers(response.headers)
        response.raw = BytesIO(answer.body)
        if response.is_redirect:
            raise AnswerRefused("it leads elsewhere")
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise AnswerRefused(f"it is {answer.status}")
        if not answer.is_whole:
            raise AnswerRefused(f"it has more than {MAX_BYTES} bytes")
        return response

    def close(self) -> None:
        """Each exchange closes its connection."""


@cache
def _trusted() -> ssl.SSLContext:
    """Trusts what Python trusts: SSL_CERT_FILE and the system's authorities, besides those that requests brings."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


class Session(requests.Session):
    """Without proxies, `.netrc` and redirects; allauth uses it as well."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.adapters.clear()
        self.mount("https://", _Bounded())
        self.mount("http://", _Bounded())


def json_object(url: str, *, access_token: str = "") -> dict[str, Any]:
    """Return the JSON object at the URL. Raises requests.RequestException."""
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {access_token}"} if access_token else {})
    with Session() as session:
        response = session.get(url, headers=headers)
    response.raise_for_status()
    try:
        found = response.json()
    except (ValueError, RecursionError):
        found = None
    if response.status_code != HTTPStatus.OK or not isinstance(found, dict):
        raise AnswerRefused("it is not a JSON object")
    return found


@dataclass
class _Entry(Generic[Value]):
    value: Value | None = None
    at: float = 0.0
    failed_at: float = float("-inf")
    failure: requests.RequestException | None = None
    lock: Lock = field(default_factory=Lock)

    def is_fresh(self, suffices: Callable[[Value], bool]) -> bool:
        value, age = self.value, time.monotonic() - self.at
        return value is not None and age <= (MAX_AGE_SECONDS if suffices(value) else MIN_REFRESH_SECONDS)


class Remembered(Generic[Asked, Value]):
    """`fetch` raises requests.RequestException; `outage` is the log event where the last answer has to do."""

    def __init__(self, fetch: Callable[[Asked], Value], *, outage: str) -> None:
        self._fetch, self._outage = fetch, outage
        self._entries: dict[Asked, _Entry[Value]] = {}
        self.clear = self._entries.clear

    def of(self, provider: Asked, *, suffices: Callable[[Value], bool] = lambda _: True) -> Value:
        """Return what the provider publishes; what does not suffice is asked for again, at most once a minute.

        Raises requests.RequestException if nothing is known.
        """
        entry = self._entries.setdefault(provider, _Entry())
        # While one request asks again, the others use what is known.
        if entry.is_fresh(suffices) or (entry.value is not None and suffices(entry.value) and entry.lock.locked()):
            return cast("Value", entry.value)
        with outside.waiting(lambda: LeftAlone(str(fetching.left_alone()))), entry.lock:
            return self._renewed(provider, entry, suffices)

    def _renewed(self, provider: Asked, entry: _Entry[Value], suffices: Callable[[Value], bool]) -> Value:
        """Others may have asked while this waited for the lock."""
        if not entry.is_fresh(suffices):
            if entry.failure is not None and time.monotonic() - entry.failed_at <= FAILURE_SECONDS:
                raise entry.failure
            try:
                entry.value = self._fetch(provider)
            except requests.RequestException as error:
                if entry.value is None:
                    if not isinstance(error, LeftAlone):
                        entry.failed_at, entry.failure = time.monotonic(), error
                    raise
                log.warning(self._outage, provider=provider.id, error=type(error).__name__)
            entry.at, entry.failure = time.monotonic(), None
        assert entry.value is not None  # noqa: S101  # it is fresh, or was fetched
        return entry.value
