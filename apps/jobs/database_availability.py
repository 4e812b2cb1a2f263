"""A database that goes away while bytes come in or work is done, which takes long, and may be back by the end."""

import time
from collections.abc import Callable
from threading import Thread

import structlog
from django.db import InterfaceError, OperationalError, connection

# What Django raises while the database does not answer.
AWAY = (OperationalError, InterfaceError)

log = structlog.get_logger("larder.jobs")


def is_away(error: BaseException | None) -> bool:
    """Whether an error says so, or was raised while such an error was handled, as Django's sessions do."""
    while error is not None:
        if isinstance(error, AWAY):
            return True
        error = error.__cause__ or error.__context__
    return False


def look_again() -> None:
    """Let the next statement find out first whether its connection still stands, as the first of a request does.

    From a pool (PostgreSQL) the connection goes back until then: call it before what takes long without the database.
    """
    if not connection.in_atomic_block:  # as a test's own transaction is
        connection.close_if_unusable_or_obsolete()


def is_done(action: Callable[[], object]) -> bool:
    """False where the database is away. Anything else that it raises passes through."""
    try:
        look_again()
        action()
    except AWAY as error:
        log.warning("database_away", error=type(error).__name__)
        return False
    finally:
        look_again()
    return True


def do_when_back(action: Callable[[], object], *, seconds: float) -> None:
    """Now, or once the database answers again: then by a thread of its own, for at most so long."""

    def go_on() -> None:
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline and not is_done(action):
                time.sleep(1)
        finally:
            connection.close()  # this thread's own

    if not is_done(action):
        Thread(target=go_on, name="when-back", daemon=True).start()
