"""Django's backend for PostgreSQL with its pool, which says at once when there is no database and logs when it is full.

psycopg's pool connects in the background and keeps whoever waits until its time is over: while the database is away,
each request would hold its thread for seconds. Here a failed attempt ends the waiting.
"""

import atexit
import logging
import os
import re
import threading
import time
from typing import Any

import psycopg
import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.postgresql import base
from psycopg import IsolationLevel, OperationalError
from psycopg_pool import ConnectionPool, PoolTimeout

# How long a request waits for a connection, in steps after each of which it is looked whether there is a database.
WAIT_SECONDS = 4.0
STEP_SECONDS = 0.2
SAID_EVERY_SECONDS = 10.0
POOL: dict[str, Any] = {
    # Nothing is connected ahead, or kept for long: PostgreSQL pays some megabytes for each.
    "min_size": 0,
    "max_idle": 120.0,
    "max_lifetime": 1800.0,
    # An attempt fails once and for all. Whoever asks next makes the next one.
    "reconnect_timeout": 0.0,
}
_FULL = re.compile(r"too many (clients|connections)|connection slots|no more connections allowed", re.IGNORECASE)

log = structlog.get_logger("larder.database")


class _Failures(logging.Filter):
    """Why attempts to connect failed: the pool tells nobody but its logger, and that once for each."""

    def __init__(self) -> None:
        super().__init__()
        self.at = float("-inf")
        self.error: psycopg.Error = OperationalError()

    def filter(self, record: logging.LogRecord) -> bool:
        for argument in record.args if isinstance(record.args, tuple) else ():
            if isinstance(argument, psycopg.Error):
                self.at, self.error = time.monotonic(), argument
        return record.levelno > logging.WARNING


class _Exhaustion:
    """One event for all who find no connection within some seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said_at = float("-inf")
        self._unsaid = 0

    def note(self, reason: str, **more: Any) -> None:
        with self._lock:
            self._unsaid += 1
            if time.monotonic() - self._said_at < SAID_EVERY_SECONDS:
                return
            self._said_at, refused, self._unsaid = time.monotonic(), self._unsaid, 0
        log.error("database_connections_exhausted", reason=reason, refused=refused, **more)


failures, exhaustion = _Failures(), _Exhaustion()
logging.getLogger("psycopg.pool").addFilter(failures)


class DatabaseWrapper(base.DatabaseWrapper):
    @property
    def pool(self) -> Any:
        options = self.settings_dict["OPTIONS"]
        if isinstance(options.get("pool"), dict):
            options["pool"] = POOL | options["pool"]
        return super().pool

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        pool = self.pool
        if pool is None:
            return super().get_new_connection(conn_params)
        if "isolation_level" in self.settings_dict["OPTIONS"]:
            raise ImproperlyConfigured("The pool gives every connection the isolation level of the server.")
        self.isolation_level = IsolationLevel.READ_COMMITTED
        pool.open()
        return self._from(pool)

    def _from(self, pool: ConnectionPool[Any]) -> Any:
        began = time.monotonic()
        while True:
            try:
                return pool.getconn(timeout=STEP_SECONDS)
            except PoolTimeout:
                if failures.at >= began:
                    reason = str(failures.error).strip()
                    if _FULL.search(reason):
                        exhaustion.note("the server takes no more connections", server_says=reason[:200])
                    raise type(failures.error)(reason) from None
                if time.monotonic() - began > WAIT_SECONDS:
                    limit = pool.max_size
                    exhaustion.note("all connections of this process are in use", connections=limit)
                    raise OperationalError(f"all {limit} connections of this process are in use") from None


def close_pools() -> None:
    """For a process that is about to fork, or ends. Connections that are in use stay open: give them back before."""
    while _pools:
        _pools.popitem()[1].close()


# Django's, by alias, for all threads: it has no public name.
_pools: dict[str, ConnectionPool[Any]] = DatabaseWrapper._connection_pools  # type: ignore[attr-defined]  # noqa: SLF001
# A child that inherits a pool has its connections, and none of its threads.
os.register_at_fork(after_in_child=_pools.clear)
atexit.register(close_pools)
