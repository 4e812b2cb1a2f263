"""Survive a database outage during long work: an upload or a job may outlast it."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from threading import Thread

import structlog
from django.db import InterfaceError, OperationalError, connection

from apps.lib.process import metrics

# Django raises these while the database does not answer.
AWAY = (OperationalError, InterfaceError)
POSTGRES_DISK_FULL = "53100"  # its SQLSTATE

log = structlog.get_logger("larder.jobs")


def is_away(error: BaseException | None) -> bool:
    """Return whether the error, or one that it was raised from, is an outage: Django's sessions wrap theirs."""
    return any(isinstance(one, AWAY) for one in _causes(error))


def is_full(error: BaseException | None) -> bool:
    """Return whether the database could not write because its disk is full."""
    return any(
        getattr(one, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        or getattr(one, "sqlstate", None) == POSTGRES_DISK_FULL
        for one in _causes(error)
    )


def count(error: BaseException | None) -> None:
    """For /metrics."""
    metrics.database_errors.labels("full" if is_full(error) else "no_answer").inc()


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def release_connection() -> None:
    """Give a pooled connection back and drop a broken one; the next statement gets a working one.

    Call it before work that takes long without the database.
    """
    if not connection.in_atomic_block:  # a test runs in a transaction
        connection.close_if_unusable_or_obsolete()


def try_once(action: Callable[[], object]) -> bool:
    """Run the action; return False if the database is away. Other errors pass through."""
    try:
        release_connection()
        action()
    except AWAY as error:
        log.warning("database_away", error=type(error).__name__)
        return False
    finally:
        release_connection()
    return True


def run_when_back(action: Callable[[], object], *, seconds: float) -> None:
    """Run the action now, or from a thread once the database answers; give up after `seconds`."""

    def retry() -> None:
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline and not try_once(action):
                time.sleep(1)
        finally:
            connection.close()  # this thread's own

    if not try_once(action):
        Thread(target=retry, name="when-back", daemon=True).start()
