"""What providers publish, remembered in each process. During an outage the last discovery, keys or metadata count."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

import requests
import structlog

from apps.lib.settings_values.saml import AnyProvider

MAX_AGE_SECONDS = 3600.0
# A signature by an unknown key asks for the keys again, and strangers can send such a signature.
MIN_REFRESH_SECONDS = 60.0

Asked = TypeVar("Asked", bound=AnyProvider)
Value = TypeVar("Value")
log = structlog.get_logger("larder.accounts")


@dataclass
class _Entry(Generic[Value]):
    value: Value | None = None
    at: float = 0.0
    lock: Lock = field(default_factory=Lock)


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
        with entry.lock:
            age = time.monotonic() - entry.at
            longest = MAX_AGE_SECONDS if entry.value is None or suffices(entry.value) else MIN_REFRESH_SECONDS
            if entry.value is None or age > longest:
                try:
                    entry.value = self._fetch(provider)
                except requests.RequestException as error:
                    if entry.value is None:
                        raise
                    log.warning(self._outage, provider=provider.id, error=type(error).__name__)
                entry.at = time.monotonic()
            return entry.value
