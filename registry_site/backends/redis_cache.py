"""The cache in Redis, which several hosts share for their rate limits.

While Redis does not answer, memory takes its place. Refusing every sign-in during an outage would lock out the
operators who have to end it, and dropping the limits would allow guessing. So each process counts alone: the limits
hold, times the number of processes.
"""

import threading
import time
from functools import partialmethod
from typing import Any

import structlog
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.redis import RedisCache
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from apps.lib.errors import RegistryError
from registry_site.backends.cache import MemoryCounters

# If Redis hangs, the first request waits at most twice as long, and the others not at all.
TIMEOUT_SECONDS = 1.0
ASK_AGAIN_SECONDS = 5.0

log = structlog.get_logger("larder.cache")


def require(url: str) -> None:
    """Raise RegistryError unless the Redis at the URL answers."""
    try:
        patience = {"socket_timeout": TIMEOUT_SECONDS, "socket_connect_timeout": TIMEOUT_SECONDS}
        with Redis.from_url(url, **patience, retry=Retry(NoBackoff(), 0)) as redis:
            redis.ping()
    except RedisError as error:
        raise RegistryError(type(error).__name__) from error  # its text may name hosts


class Availability:
    """Tracks whether Redis answers, once per process: Django makes a cache object for each thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._away_until = 0.0
        self._is_away = False

    def may_ask(self) -> bool:
        """Return True while Redis answers; during an outage for one caller every ASK_AGAIN_SECONDS."""
        if not self._is_away:
            return True
        with self._lock:
            now = time.monotonic()
            if now < self._away_until:
                return False
            self._away_until = now + ASK_AGAIN_SECONDS
            return True

    def failed(self, error: RedisError) -> None:
        with self._lock:
            if not self._is_away:
                log.warning("cache_away", error=type(error).__name__, counting="only in this process")
            self._is_away = True
            self._away_until = time.monotonic() + ASK_AGAIN_SECONDS

    def answered(self) -> None:
        if not self._is_away:
            return
        with self._lock:
            if self._is_away:
                log.info("cache_back")
            self._is_away = False


_availability = Availability()


class RedisOrMemoryCache(BaseCache):
    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        options = {
            "socket_timeout": TIMEOUT_SECONDS,
            "socket_connect_timeout": TIMEOUT_SECONDS,
            # One retry, for a connection that a restarted Redis has closed.
            "retry": Retry(NoBackoff(), 1),
        }
        self._shared = RedisCache(location, {**params, "OPTIONS": {**options, **params.get("OPTIONS", {})}})
        self._own = MemoryCounters("larder-while-redis-is-away", params)

    def _call(self, method: str, *arguments: Any, **more: Any) -> Any:
        if _availability.may_ask():
            try:
                result = getattr(self._shared, method)(*arguments, **more)
            except RedisError as error:
                _availability.failed(error)
            else:
                _availability.answered()
                return result
        return getattr(self._own, method)(*arguments, **more)


# BaseCache builds all other methods on these; `incr` it would read and write.
for _name in ("add", "get", "set", "touch", "delete", "has_key", "incr", "clear"):
    setattr(RedisOrMemoryCache, _name, partialmethod(RedisOrMemoryCache._call, _name))  # noqa: SLF001  # of this file
