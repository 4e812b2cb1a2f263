"""Django's backend for PostgreSQL with a pool that fails at once while the database is away.

psycopg's pool connects in the background and lets callers wait for the whole timeout, so that each request would block
its thread for seconds. Here a failed attempt ends the wait. An exhausted pool is logged.
"""

import atexit
import logging
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import psycopg
import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db.backends.postgresql import base
from psycopg import IsolationLevel, OperationalError
from psycopg_pool import ConnectionPool, PoolTimeout

from registry_site.backends.database import this_thread

if TYPE_CHECKING:
    from collections.abc import Callable

# How long a request waits for a connection, and how often it checks meanwhile for a failed attempt.
WAIT_SECONDS = 4.0
STEP_SECONDS = 0.2
SAID_EVERY_SECONDS = 10.0
POOL: dict[str, Any] = {
    # Connections are opened on demand and closed soon: each costs PostgreSQL some megabytes.
    "min_size": 0,
    "max_idle": 120.0,
    "max_lifetime": 1800.0,
    # No retries: the next request makes the next attempt.
    "reconnect_timeout": 0.0,
}
# Threads that serve machines leave so many connections of a process to all others: a fifth, at least one.
LEFT_FRACTION = 5
_FULL = re.compile(r"too many (clients|connections)|connection slots|no more connections allowed", re.IGNORECASE)

log = structlog.get_logger("larder.database")


class _Failures(logging.Filter):
    """Collects why attempts to connect failed: the pool tells only its logger."""

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
    """Logs one event for all requests that get no connection within some seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said_at = float("-inf")
        self._unsaid = 0

    def record(self, reason: str, **more: Any) -> None:
        with self._lock:
            self._unsaid += 1
            if time.monotonic() - self._said_at < SAID_EVERY_SECONDS:
                return
            self._said_at, refused, self._unsaid = time.monotonic(), self._unsaid, 0
        log.error("database_connections_exhausted", reason=reason, refused=refused, **more)


class _Counts:
    """The connections in use of the pools, and the threads that wait for one.

    The pool counts connections that it only tries to open, and each step of a wait for one that waits still.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """In a fork as well: the threads of its parent are not there, and one of them may have had the lock."""
        self._lock = threading.Lock()
        self.waiting = 0
        self.given: WeakSet[Any] = WeakSet()

    @contextmanager
    def one_waits(self) -> Iterator[None]:
        with self._lock:
            self.waiting += 1
        try:
            yield
        finally:
            with self._lock:
                self.waiting -= 1


failures, exhaustion, counts = _Failures(), _Exhaustion(), _Counts()
logging.getLogger("psycopg.pool").addFilter(failures)


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        # What a transaction does last: statements that lock what all transactions need.
        self.before_commit: list[Callable[[], None]] = []
        self._share: threading.Semaphore | None = None  # what this connection took of those for machines
        self._is_own = False  # it is none of the pool's

    def _commit(self) -> None:
        works, self.before_commit = self.before_commit, []
        for work in works:
            work()
        super()._commit()  # type: ignore[misc]  # unknown to the stubs

    def _rollback(self) -> None:
        self.before_commit = []
        super()._rollback()  # type: ignore[misc]  # unknown to the stubs

    def close(self) -> None:
        self.before_commit = []
        super().close()

    def _close(self) -> Any:
        if self.connection is not None:
            counts.given.discard(self.connection)
        try:
            return super()._close()  # type: ignore[misc]  # unknown to the stubs
        finally:
            self._give_share_back()

    @property
    def pool(self) -> Any:
        if self._is_own:
            return None
        options = self.settings_dict["OPTIONS"]
        if isinstance(options.get("pool"), dict):
            options["pool"] = POOL | options["pool"]
        return super().pool

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self._is_own = this_thread.has_own
        pool = self.pool
        if pool is None:
            return super().get_new_connection(conn_params)
        if "isolation_level" in self.settings_dict["OPTIONS"]:
            raise ImproperlyConfigured("The pool gives every connection the isolation level of the server.")
        self.isolation_level = IsolationLevel.READ_COMMITTED
        pool.open()
        with counts.one_waits():
            found = self._of_the_pool(pool)
        counts.given.add(found)
        return found

    def _of_the_pool(self, pool: ConnectionPool[Any]) -> Any:
        if this_thread.leaves_some:
            share = _share_of(pool)
            if not share.acquire(timeout=WAIT_SECONDS):
                raise _exhausted(pool)
            self._share = share
        try:
            return _connection_of(pool, time.monotonic())
        except BaseException:
            self._give_share_back()
            raise

    def _give_share_back(self) -> None:
        share, self._share = self._share, None
        if share is not None:
            share.release()


def _connection_of(pool: ConnectionPool[Any], began: float) -> Any:
    while True:
        try:
            return pool.getconn(timeout=STEP_SECONDS)
        except PoolTimeout:
            if failures.at >= began:
                reason = str(failures.error).strip()
                if _FULL.search(reason):
                    exhaustion.record("the server accepts no more connections", server_says=reason[:200])
                raise type(failures.error)(reason) from None
            if time.monotonic() - began > WAIT_SECONDS:
                raise _exhausted(pool) from None


def _exhausted(pool: ConnectionPool[Any]) -> OperationalError:
    limit = pool.max_size
    exhaustion.record("all connections of this process are in use", connections=limit)
    return OperationalError(f"all {limit} connections of this process are in use")


def _share_of(pool: ConnectionPool[Any]) -> threading.Semaphore:
    """Return what counts the connections that threads for machines may have."""
    return _shares.setdefault(pool, threading.Semaphore(pool.max_size - max(1, pool.max_size // LEFT_FRACTION)))


def pool_figures() -> dict[str, int]:
    """Return how many connections this process uses, keeps ready and may have, and how many threads wait for one."""
    pools = list(_pools.values())
    return {
        "in_use": len(counts.given),
        "idle": sum(pool.get_stats()["pool_available"] for pool in pools),
        "limit": sum(pool.max_size for pool in pools),
        "waiting": counts.waiting,
    }


def close_pools() -> None:
    """Close all pools before a fork or the end of the process. Connections in use stay open: give them back first."""
    while _pools:
        _pools.popitem()[1].close()


_shares: WeakKeyDictionary[ConnectionPool[Any], threading.Semaphore] = WeakKeyDictionary()
# Django's pools by alias, for all threads; there is no public name.
_pools: dict[str, ConnectionPool[Any]] = DatabaseWrapper._connection_pools  # type: ignore[attr-defined]  # noqa: SLF001
# A forked child would inherit the pool's connections without its threads.
os.register_at_fork(after_in_child=_pools.clear)
os.register_at_fork(after_in_child=counts.clear)
atexit.register(close_pools)
