"""/status: parts, queue and versions as a page, or as JSON on request.

Everyone sees which parts answer. The queue and the versions are for signed-in people. Errors of parts are not shown:
they may name hosts. Probes use /readyz.
"""

import platform
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import django
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.identity.sessions import session_viewer
from apps.jobs import heartbeats
from apps.jobs.models import WORKING, Job, State
from apps.portal.frame.negotiation import wants_json
from apps.room import Part, all_of, rooms
from apps.signing import fingerprints
from registry_site.front.front import front
from registry_site.server import probes

# Without these hardly anything works. Without the others uploads wait, or limits are counted alone.
NEEDED = ("database", "storage")


STALE = "Clients can install what others have installed within the last hour."
PARTS = {
    "database": Part(
        "Database", "Accounts, addresses and releases.", "Only files with a direct link can be downloaded."
    ),
    "storage": Part("Storage", "The files of modules and providers.", "Files cannot be downloaded or published."),
    "broker": Part("Broker", "Wakes the workers.", "Publishing takes a few seconds longer."),
    "worker": Part("Workers", "Check and sign releases.", "Uploads are accepted and wait for a worker."),
    # Only where there is one.
    "cache": Part("Cache", "Counts attempts for rate limits.", "Each process counts separately, so limits are looser."),
    "key_service": Part(
        "Key service", "Decrypts the registry's signing keys.", "Providers signed by the registry wait."
    ),
    **{name: part for one in rooms() for name, part in one.parts.items()},
}


@login_not_required
@require_safe
def status(request: HttpRequest) -> HttpResponse:
    states = probes.checks.states()
    up = {name: states[name] == "ok" for name in PARTS if name in states}
    # A worker has asked it: this process must not (D12).
    kek = fingerprints.kek_place() if up["database"] else None
    if kek and kek.is_service:
        up["key_service"] = kek.is_answering
    if up["database"]:
        for part_states in all_of("part_states"):
            up |= part_states()
    overall = _overall(up)
    stale = front.stale.figures()
    words = PARTS | ({"database": replace(PARTS["database"], failure=STALE)} if "until" in stale else {})
    is_known = up["database"] and session_viewer(request).is_identified
    more = {"queue": _queue(), "ready_answers": front.figures(), "versions": _versions()} if is_known else {}
    if is_known and kek:
        more["signing"] = {"key_encryption_key": kek.name, "answers": kek.is_answering}
    if wants_json(request):
        document: dict[str, Any] = {
            "status": overall,
            "parts": {name: "up" if is_up else "down" for name, is_up in up.items()},
        }
        if stale.get("is_elsewhere"):
            document["database_elsewhere"] = True
        elif stale:
            document["serving_stale"] = stale
        code = HTTPStatus.SERVICE_UNAVAILABLE if overall in ("down", "stopping") else HTTPStatus.OK
        response: HttpResponse = JsonResponse(document | more, status=code)
    else:
        context = {
            "overall": overall,
            "is_delayed": not (up["broker"] and up["worker"] and up.get("key_service", True)),
            "parts": [(words[name], is_up) for name, is_up in up.items()],
            "looked_at": timezone.now(),
            "stale": stale,
            **more,
        }
        # Without the request if the database is away: its context processors would query it.
        page = render_to_string("status.html", context, request if up["database"] else None)
        response = HttpResponse(page)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Vary"] = "Accept, Cookie"
    return response


def _overall(up: dict[str, bool]) -> str:
    if probes.is_stopping():
        return "stopping"
    if not all(up[name] for name in NEEDED):
        return "down"
    return "ok" if all(up.values()) else "degraded"


def _queue() -> dict[str, Any]:
    rows = Job.objects.filter(state__in=[*WORKING, State.FAILED]).values("state").annotate(number=Count("pk"))
    numbers = {row["state"]: row["number"] for row in rows.order_by("state")}
    return {
        "waiting": numbers.get(State.QUEUED, 0),
        "running": numbers.get(State.RUNNING, 0),
        "failed": numbers.get(State.FAILED, 0),
        "oldest_waiting_since": Job.objects.awaited().waiting_since(),
        "workers": heartbeats.since(probes.HEARTBEAT_MAX_AGE).count(),
    }


def _versions() -> dict[str, str]:
    database = ".".join(str(number) for number in connection.get_database_version())
    return {
        "larder": settings.VERSION,
        "python": platform.python_version(),
        "django": django.get_version(),
        "database": f"{connection.display_name} {database}",
    }
