"""Survive a database outage during long work: an upload or a job may outlast it."""

import time
from collections.abc import Callable
from threading import Thread

import structlog
from django.db import InterfaceError, OperationalError, connection

# Django raises these while the database does not answer.
AWAY = (OperationalError, InterfaceError)

log = structlog.get_logger("larder.jobs")


def is_away(error: BaseException | None) -> bool:
    """Tell whether the error, or one that it was raised from, is an outage: Django's sessions wrap theirs."""
    while error is not None:
        if isinstance(error, AWAY):
            return True
        error = error.__cause__ or error.__context__
    return False


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
