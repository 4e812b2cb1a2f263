"""Runs the looks of the check-up one after the other, each within its time, and blames only the part that fails.

What needs a part that has failed is not asked: without a database, ten lines would name the gpg, the broker and the
workers. A look that fails by another part's error blames that part. A part that is slow has not failed: what needs it
is asked, and only if that gets no answer either is the part down.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, OperationalError, connections
from kombu.exceptions import KombuError

from apps.blobs.store import StorageUnavailable
from apps.lib.errors import RegistryError
from registry_site.startup.bootstrap import CannotStartError

OK, WARN, FAIL, SKIP = "ok", "warn", "fail", "skip"
LIMIT_SECONDS = 10.0
QUERY_CANCELLED = "57014"  # of PostgreSQL, by its statement_timeout
AWAY = (RegistryError, CannotStartError, ImproperlyConfigured, DatabaseError, InterfaceError, KombuError, OSError)
# Whose error it is, wherever it is raised.
CAUSES: dict[type[Exception], str] = {
    DatabaseError: "database",
    InterfaceError: "database",
    StorageUnavailable: "storage",
    KombuError: "broker",
}


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    state: str
    found: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """`needs`: parts that are looked at earlier. `seconds`: how long it may take."""

    run: Callable[[], Iterator[Finding]]
    needs: tuple[str, ...] = ()
    hint: str = ""
    seconds: float = 0.0


class TooSlow(RegistryError):
    """A look has not ended within its time, and its thread is left behind; or the database has ended its statement."""


def examine(looks: Mapping[str, Look]) -> Iterator[Finding]:
    down: set[str] = set()
    slow: set[str] = set()
    for part in looks:
        yield from _examined(part, looks, down, slow)


def _examined(part: str, looks: Mapping[str, Look], down: set[str], slow: set[str]) -> Iterator[Finding]:
    look = looks[part]
    if lacking := next((need for need in look.needs if need in down), ""):
        yield _skipped(part, lacking)
        return
    found, error = _within(look)
    yield from found
    if error is None:
        return
    cause = _cause_of(part, error, looks)
    if cause == part:
        (slow if isinstance(error, TooSlow) else down).add(part)
        yield _failed(part, error, look)
        return
    if cause not in down:
        down.add(cause)
        if cause not in slow:  # which is said already
            yield _failed(cause, error, looks.get(cause))
    yield _skipped(part, cause)


def _cause_of(part: str, error: Exception, looks: Mapping[str, Look]) -> str:
    """After a time-out, the first part that it needs and that does not answer now."""
    if isinstance(error, TooSlow):
        silent = (need for need in looks[part].needs if need in looks and _within(looks[need])[1] is not None)
        return next(silent, part)
    return next((cause for kind, cause in CAUSES.items() if isinstance(error, kind)), part)


def _within(look: Look) -> tuple[list[Finding], Exception | None]:
    """Return what the look found within its time, and the error that ended it. In a thread, since nothing else ends
    every wait.
    """
    found: list[Finding] = []
    ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
    connection = connections[DEFAULT_DB_ALIAS]

    def work() -> None:
        connections[DEFAULT_DB_ALIAS] = connection
        try:
            found.extend(look.run())
        except BaseException as error:  # noqa: BLE001  # raised again in the thread that waits
            ended.put(error)
        else:
            ended.put(None)

    seconds = look.seconds or LIMIT_SECONDS
    connection.inc_thread_sharing()
    threading.Thread(target=work, daemon=True, name="look").start()
    try:
        error = ended.get(timeout=seconds)
    except queue.Empty:
        del connections[DEFAULT_DB_ALIAS]  # the thread may still use it
        return [], TooSlow(f"no answer within {seconds:g} s")
    finally:
        connection.dec_thread_sharing()
    if error is None:
        return found, None
    if isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", "") == QUERY_CANCELLED:
        # It answers others. As a failure of the database it would skip whatever else asks it.
        return found, TooSlow("the database ended a statement that took too long")
    if isinstance(error, AWAY):
        return found, error
    raise error


def _failed(part: str, error: Exception, look: Look | None) -> Finding:
    what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return Finding(part, FAIL, what, getattr(error, "hint", "") or (look.hint if look else ""))


def _skipped(part: str, cause: str) -> Finding:
    return Finding(part, SKIP, f"not checked, because it needs the {cause}")
