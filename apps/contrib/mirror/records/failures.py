"""Failed tries, remembered so that clients do not hammer a registry, and what they are told."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from apps.contrib.mirror.errors import FetchFailed, Refused
from apps.contrib.mirror.models import UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.lib.errors import NotFound, RegistryError, Unavailable

# Not asked again before.
PAUSE = timedelta(seconds=10)
MISSING_PAUSE = timedelta(seconds=60)
FINAL_PAUSE = timedelta(minutes=5)
MAX_PAUSE = timedelta(hours=1)
MISSING = (404, 410)

Row = UpstreamProvider | UpstreamVersion | UpstreamPackage


class Distrusted(FetchFailed):
    """It was answered, and must not be believed. Clients are refused; staff may decide otherwise."""

    def __init__(self, code: str, message: str, *, url: str, rule: str) -> None:
        super().__init__(code, message, url=url, rule=rule, is_final=True)

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"is_refused": True}


def remember(row: Row, failure: FetchFailed) -> None:
    """End a try that failed: requests that wait for it continue."""
    now = timezone.now()
    pause = FINAL_PAUSE if failure.is_final and not isinstance(failure, Distrusted) else PAUSE
    if failure.status in MISSING:
        pause = MISSING_PAUSE
    if failure.retry_after:
        pause = max(PAUSE, timedelta(seconds=failure.retry_after))
    type(row)._default_manager.filter(pk=row.pk).update(  # noqa: SLF001  # Django's public name for it
        tries=F("tries") + 1, tried_at=now, retry_at=now + min(pause, MAX_PAUSE), failure=failure.as_json()
    )


def forget(row: Row) -> None:
    """End a try that succeeded."""
    type(row)._default_manager.filter(pk=row.pk).update(  # noqa: SLF001
        tries=F("tries") + 1, tried_at=timezone.now(), retry_at=None, failure={}
    )


def go_on(row: Row) -> None:
    """Let requests look again: another job has failed for them a moment ago."""
    type(row)._default_manager.filter(pk=row.pk).update(tries=F("tries") + 1)  # noqa: SLF001


def is_paused(row: Row, since: datetime | None = None) -> bool:
    """Return whether nothing is asked for it now. `since`: when the asker came.

    What was refused is looked at again for each who came after the last try: the registry may have repaired it.
    """
    if since is not None and row.failure.get("is_refused"):
        return row.tried_at is not None and row.tried_at >= since
    return row.retry_at is not None and row.retry_at > timezone.now()


def error_of(row: Row, what: str) -> RegistryError:
    """Return what a client is told of the last failure. `what` could not be fetched, such as `random 3.6.0`."""
    failure = row.failure
    url, status, rule = failure.get("url", ""), failure.get("status", 0), failure.get("rule", "")
    answered = f" answered {status}" if status else ""
    by = f" (rule {rule})" if rule else ""
    message = f"{what}: {failure.get('message', 'the last try failed')}{by}"
    if failure.get("is_refused"):
        return Refused(message, hint="Staff see it among the alarms of this registry, and can decide.")
    if status in MISSING:
        return NotFound(f"{what} was not found: {url}{answered}.", hint="Check the spelling.")
    wait = (row.retry_at - timezone.now()).total_seconds() if row.retry_at else 0
    where = f" {url}{answered}." if url else ""
    return Unavailable(f"{message}.{where}".replace("..", "."), retry_after=max(1, min(int(wait) + 1, 60)))
