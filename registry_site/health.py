"""/healthz: the process answers. /readyz: every part it needs answers, 200 or 503 with the list (D24)."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from kombu.exceptions import KombuError

from apps.blobs import store
from apps.jobs import heartbeats
from apps.lib.errors import RegistryError
from registry_site.celery import app

# Three beats may be lost before somebody should look.
HEARTBEAT_MAX_AGE = 4 * settings.REAPER_INTERVAL


def check_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_broker() -> None:
    with app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1, timeout=2)


def check_worker() -> None:
    newest = heartbeats.newest()
    if newest is None:
        raise RegistryError("no worker has reported yet")
    age = timezone.now() - newest
    if age > HEARTBEAT_MAX_AGE:
        raise RegistryError(f"the last worker reported {age.total_seconds():.0f} s ago")


PARTS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "storage": store.ready,
    "broker": check_broker,
    "worker": check_worker,
}


def state_of(check: Callable[[], None]) -> str:
    try:
        check()
    except (RegistryError, DatabaseError, KombuError, OSError) as error:
        # The kind and not the text of foreign errors: they may name hosts or paths.
        return str(error) if isinstance(error, RegistryError) else type(error).__name__
    return "ok"


@login_not_required
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@login_not_required
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    parts = {name: state_of(check) for name, check in PARTS.items()}
    ready = all(state == "ok" for state in parts.values())
    return JsonResponse({"status": "ok" if ready else "unavailable", "parts": parts}, status=200 if ready else 503)
