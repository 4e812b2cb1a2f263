"""The overview of upstreams for staff: health, lists, storage, alarms. A few queries, however many upstreams there
are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from apps.contrib.mirror.models import Alarm, AlarmState, KeyPin, KeyState, StoredSum, Upstream, UpstreamProvider

OFF, UNASKED, OPEN, FAILING, OK = "off", "unasked", "open", "failing", "ok"
STATES = (OFF, UNASKED, OPEN, FAILING, OK)


@dataclass(frozen=True, slots=True)
class Facts:
    """`state`: `open` means that the circuit breaker is open and nothing is asked until `Upstream.open_until`."""

    state: str
    providers: int
    oldest_list_at: datetime | None
    newest_list_at: datetime | None
    packages: int  # stored
    bytes: int  # as the quota counts them
    open_alarms: int
    waiting_keys: int


def state_of(upstream: Upstream, *, now: datetime) -> str:
    if not upstream.is_enabled:
        return OFF
    if upstream.open_until is not None and upstream.open_until > now:
        return OPEN
    if upstream.failures:
        return FAILING
    return OK if upstream.succeeded_at else UNASKED


def facts_of(upstreams: Iterable[Upstream]) -> dict[int, Facts]:
    """By the number of the row."""
    rows, now = list(upstreams), timezone.now()
    within = Q(upstream__in=[row.pk for row in rows])
    listed = _by_upstream(
        UpstreamProvider.objects.known().filter(within).values("upstream"),
        providers=Count("pk"),
        oldest=Min("listed_at"),
        newest=Max("listed_at"),
    )
    stored = StoredSum.objects.filter(within).in_bulk()
    alarms = _by_upstream(Alarm.objects.filter(within, state=AlarmState.OPEN).values("upstream"), alarms=Count("pk"))
    keys = _by_upstream(KeyPin.objects.filter(within, state=KeyState.WAITING).values("upstream"), keys=Count("pk"))
    found = {}
    for row in rows:
        one = {
            **listed.get(row.pk, {}),
            **alarms.get(row.pk, {}),
            **keys.get(row.pk, {}),
        }
        found[row.pk] = Facts(
            state=state_of(row, now=now),
            providers=one.get("providers", 0),
            oldest_list_at=one.get("oldest"),
            newest_list_at=one.get("newest"),
            packages=stored[row.pk].packages if row.pk in stored else 0,
            bytes=stored[row.pk].bytes if row.pk in stored else 0,
            open_alarms=one.get("alarms", 0),
            waiting_keys=one.get("keys", 0),
        )
    return found


def _by_upstream(grouped: Any, **numbers: Any) -> dict[int, dict[str, Any]]:
    [key] = grouped.query.values_select
    return {row.pop(key): row for row in grouped.annotate(**numbers).order_by()}
