"""Answers a change when the copy has it, or says that the copy still serves what was before.

A yank, a quarantine, a purge, a change of visibility, a deletion and a revoked key are all such changes. A publication
is none: nothing is wrong while a version is not in the copy yet.
"""

import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from apps.contrib.copy.models import Copy, Due
from apps.jobs import database_availability
from apps.lib.errors import Unavailable
from apps.lib.process import outside

HEADER = "Larder-Static-Copy"
CURRENT = "current"
WAIT_SECONDS = 5.0
LOOK_SECONDS = 0.03
SAFE = ("GET", "HEAD", "OPTIONS")
# Pages say so from then on.
LATE_SECONDS = 15.0

_noted: ContextVar[list[int] | None] = ContextVar("static-copy-changes", default=None)


def note(rows: Iterable[Due]) -> None:
    """Keep the changes for which the request that is being answered waits."""
    noted = _noted.get()
    if noted is not None:
        noted.extend(row.pk for row in rows)


class Acknowledged:
    """Middleware: the header `Larder-Static-Copy` says `current`, or how far behind the copy is, and why."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not settings.STATIC_COPY.url:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method in SAFE:
            return self.get_response(request)
        noted: list[int] = []
        mark = _noted.set(noted)
        try:
            response = self.get_response(request)
        finally:
            _noted.reset(mark)
        if noted:
            response.headers[HEADER] = acknowledged(noted)
        return response


def acknowledged(noted: list[int]) -> str:
    """Wait until the copy has these changes, or for WAIT_SECONDS; return what to say."""
    try:
        with outside.waiting():
            return wait_for(noted)
    except (*database_availability.AWAY, Unavailable):
        return _behind("it is not known whether it has this change")


def wait_for(noted: list[int]) -> str:
    """Look until the rows of the changes are gone; return what to say, `current` once they are."""
    until = time.monotonic() + WAIT_SECONDS
    while Due.objects.filter(pk__in=noted).exists():
        if time.monotonic() > until:
            failure = Copy.objects.filter(url=settings.STATIC_COPY.url).values_list("failure", flat=True).first()
            return _behind(failure or "it is still being written")
        time.sleep(LOOK_SECONDS)
    return CURRENT


def _behind(why: str) -> str:
    # A header takes one line of ASCII.
    text = " ".join(f"behind; the static copy still serves what was there before: {why}".split())
    return text.encode("ascii", "replace").decode()[:400]


def sentence() -> str:
    """Return what pages say while the copy is behind."""
    if not settings.STATIC_COPY.url:
        return ""
    first = Due.objects.order_by("pk").values_list("created_at", flat=True).first()
    if first is None or (timezone.now() - first).total_seconds() < LATE_SECONDS:
        return ""
    return (
        f"The static copy lacks changes since {first:%H:%M} UTC. Until it catches up, it serves what was there before."
    )
