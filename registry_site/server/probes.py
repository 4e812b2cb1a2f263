"""/healthz: the process answers. /readyz: 200 if it can take requests, else 503, with a list of parts (D24).

A part that all processes share is a warning there: if each process were unready, a load balancer would have nowhere to
send what still works, and would replace Larder's own errors by its own.
Under granian server/asgi.py answers both without a request's thread; the views are for other servers.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError

from apps.blobs import store
from apps.jobs import heartbeats, queues
from apps.lib.errors import RegistryError
from registry_site.backends.database import use_own_connection
from registry_site.celery import app
from registry_site.startup import schema
from registry_site.startup.bootstrap import CannotStartError

ALIVE = {"status": "ok"}
# Three lost beats are tolerated.
HEARTBEAT_MAX_AGE = 4 * settings.REAPER_INTERVAL
CHECK_SECONDS = 2.0
SHARED_SECONDS = 1.0
# Set when a stop of this process was announced.
stopping = threading.Event()
# While this file is there, all web processes of this data folder say the same (`manage.py drain`).
DRAINING = settings.DATA_DIR / "draining"


def is_stopping() -> bool:
    return stopping.is_set() or DRAINING.exists()


def check_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_broker() -> None:
    with app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=2)


def check_worker() -> None:
    for queue, worker in queues.needed().items():
        newest = heartbeats.newest(queue)
        if newest is None:
            raise RegistryError(f"no {worker} has reported yet")
        age = timezone.now() - newest
        if age > HEARTBEAT_MAX_AGE:
            raise RegistryError(f"the last {worker} reported {age.total_seconds():.0f} s ago")
    check_beat()


def check_beat() -> None:
    rang = heartbeats.beat_rang()
    if rang is None:
        raise RegistryError("beat has not reported within a day")
    if timezone.now() - rang > HEARTBEAT_MAX_AGE:
        raise RegistryError(f"beat last reported {(timezone.now() - rang).total_seconds():.0f} s ago")


def check_schema() -> None:
    """Once it is known, only a migration could change it, and that leaves room for the version before."""
    if not schema.known.is_set():
        schema.check()


PARTS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "storage": store.ready,
    "broker": check_broker,
    "worker": check_worker,
    "schema": check_schema,
}
if settings.CACHE_URL:
    # Not above: the client's modules take 10 MB of each Larder that has no Redis.
    from registry_site.backends import redis_cache

    PARTS["cache"] = partial(redis_cache.require, settings.CACHE_URL)
# A process that started while the database was down does not know yet whether it fits the tables.
OWN = ("schema",)


def state_of(check: Callable[[], None]) -> str:
    try:
        check()
    except (RegistryError, CannotStartError, DatabaseError, KombuError, OSError) as error:
        # Only the type of foreign errors: their texts may name hosts or paths.
        return str(error) if isinstance(error, RegistryError | CannotStartError) else type(error).__name__
    return "ok"


def _in_its_thread(check: Callable[[], None]) -> str:
    try:
        return state_of(check)
    finally:
        connection.close()  # so that each check connects: a thread does not notice a dead connection


class Checks:
    """Runs all checks at once, each in a thread and for at most CHECK_SECONDS; shares the results for SHARED_SECONDS.

    A hanging check keeps its thread, and runs again after it has ended. Their connections are none of the pool's, so
    that a pool of which all are in use is not taken for a database that is down.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(len(PARTS), thread_name_prefix="check", initializer=use_own_connection)
        self._lock = threading.Lock()
        self._running: dict[str, Future[str]] = {}
        self._found: dict[str, str] = {}
        self._found_at = float("-inf")

    def states(self) -> dict[str, str]:
        with self._lock:
            if time.monotonic() - self._found_at >= SHARED_SECONDS:
                # One that hangs since an earlier look has had its time.
                new = {
                    name: self._threads.submit(_in_its_thread, part)
                    for name, part in PARTS.items()
                    if name not in self._running
                }
                self._running |= new
                wait(new.values(), timeout=CHECK_SECONDS)
                found = dict.fromkeys(PARTS, f"no answer within {CHECK_SECONDS:.0f} s")
                for name, check in list(self._running.items()):
                    if check.done():
                        found[name] = check.result()
                        del self._running[name]
                self._found = found
                self._found_at = time.monotonic()
            return self._found

    def clear(self) -> None:
        self._found_at = float("-inf")


checks = Checks()


def readiness() -> tuple[int, dict[str, Any]]:
    """Return the status and document of /readyz."""
    states = checks.states()
    document = {
        "status": "ok",
        "parts": states,
        "warnings": [f"{name}: {state}" for name, state in states.items() if name not in OWN and state != "ok"],
    }
    if is_stopping():
        return HTTPStatus.SERVICE_UNAVAILABLE, document | {"status": "stopping"}
    if any(states[name] != "ok" for name in OWN):
        return HTTPStatus.SERVICE_UNAVAILABLE, document | {"status": "schema_unknown"}
    return HTTPStatus.OK, document


@login_not_required
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    return JsonResponse(ALIVE)


@login_not_required
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    status, document = readiness()
    return JsonResponse(document, status=status)
