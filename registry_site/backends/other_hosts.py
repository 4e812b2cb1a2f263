"""Tell the other hosts of this Larder, through the Redis of LARDER_CACHE_URL, that the database answers here.

A host that has lost it alone learns so that changes continue elsewhere, and repeats nothing (front/outage.py).
"""

import asyncio
import contextlib
import hmac
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings
from django.db import connections

# For so long others believe that the database answers here.
WELL_SECONDS = 2.0
TIMEOUT_SECONDS = 0.5


class OtherHosts:
    """Called on the event loop. A thread talks to Redis."""

    def __init__(self, url: str, database: bytes) -> None:
        # Not above: the client's modules take 10 MB of each Larder that has no Redis.
        from redis import Redis, RedisError
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError as Lost
        from redis.retry import Retry

        self._errors = (RedisError, OSError)
        # One retry, for a connection that a restarted Redis has closed.
        options: dict[str, Any] = {"retry": Retry(NoBackoff(), 1, supported_errors=(Lost,))}
        self._redis = Redis.from_url(
            url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS, **options
        )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hosts")
        self._name = f"larder:well:{database.hex()}"

    async def say_well(self) -> None:
        """Say that the database has just answered."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._say)

    async def is_well_somewhere(self) -> bool | None:
        """Return whether any host has said so within WELL_SECONDS; None if Redis does not answer."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._hear)

    def _say(self) -> None:
        with contextlib.suppress(*self._errors):  # who hears nothing counts on nobody
            self._redis.set(self._name, b"1", px=int(WELL_SECONDS * 1000))

    def _hear(self) -> bool | None:
        try:
            return bool(self._redis.exists(self._name))
        except self._errors:
            return None


def chosen() -> OtherHosts | None:
    """None unless this host repeats answers during an outage, and shares a Redis with others."""
    if not (settings.CACHE_URL and settings.INSTANCES > 1 and settings.SERVE_STALE_SECONDS):
        return None
    return OtherHosts(settings.CACHE_URL, database())


def database() -> bytes:
    """Equal on all hosts that use this database with this secret key."""
    found = connections["default"].settings_dict
    said = "\0".join(str(found.get(part, "")) for part in ("HOST", "PORT", "NAME"))
    return hmac.digest(settings.SECRET_KEY.encode(), said.encode(), "sha256")
