"""Circuit breakers: a registry that fails again and again is left alone for a while, by all processes.

The state of a registry's own host is on its row. Hosts that its documents name for packages have one in each process,
so that a broken link of one provider does not stop the others.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q
from django.utils import timezone

from apps.contrib.mirror.models import Upstream

THRESHOLD = 5  # failures in succession
# So many that name a Retry-After: one path that is asked too often, or for a day, silences no other.
REST_THRESHOLD = 3
PAUSE = timedelta(seconds=30)  # doubled with each further failure
MAX_PAUSE = timedelta(minutes=10)
# One try is let through after a pause, and has so long to end.
LEASE = timedelta(seconds=60)
# A registry that answers is written down once in this time.
CONFIRM_EVERY = timedelta(seconds=60)
MAX_HOSTS = 1000

_thread = threading.local()


def wait_of(upstream: Upstream) -> float:
    """Return how many seconds nothing is asked of the registry, 0 if this thread may ask now.

    After a pause, one thread of all processes gets the lease: its discovery and its request are the try.
    """
    seen, now = _open_until(upstream), timezone.now()
    if seen is None:
        return 0
    if seen > now:
        return 0 if _leases().get(upstream.pk) == seen else (seen - now).total_seconds()
    lease = now + LEASE
    if not Upstream.objects.filter(pk=upstream.pk, open_until=seen).update(open_until=lease):
        return 1.0
    _leases()[upstream.pk] = lease
    return 0


def _open_until(upstream: Upstream) -> datetime | None:
    return Upstream.objects.filter(pk=upstream.pk).values_list("open_until", flat=True).first()


def is_open(upstream: Upstream) -> bool:
    until = _open_until(upstream)
    return until is not None and until > timezone.now()


def succeeded(upstream: Upstream, *, closes: bool) -> None:
    """Write that the registry answered. `closes`: it was what it is there for, which ends a series of failures."""
    now, lease = timezone.now(), _leases().get(upstream.pk)
    rows = Upstream.objects.filter(pk=upstream.pk)
    if closes and lease is not None:
        del _leases()[upstream.pk]
        rows.filter(open_until=lease).update(open_until=None, failures=0)
    stale = Q(succeeded_at=None) | Q(succeeded_at__lt=now - CONFIRM_EVERY)
    if closes:
        # A pause that another thread began meanwhile lasts.
        rows.filter(stale | Q(failures__gt=0), open_until=None).update(succeeded_at=now, failures=0)
    else:
        rows.filter(stale, failures=0).update(succeeded_at=now)


def failed(upstream: Upstream, failure: Mapping[str, Any], *, counts: bool, retry_after: float = 0) -> None:
    """Write the failure. `counts`: the registry itself is unwell. `retry_after`: it asks for rest, in seconds.

    What was asked for rests as long as it says (failures.py).
    """
    now, lease = timezone.now(), _leases().pop(upstream.pk, None)
    rows = Upstream.objects.filter(pk=upstream.pk)
    if not counts:
        # It answered: a pause ends.
        rows.update(failed_at=now, failure=failure)
        rows.filter(open_until=lease).exclude(open_until=None).update(open_until=None, failures=0)
        return
    rows.update(failed_at=now, failure=failure, failures=F("failures") + 1)
    failures = rows.values_list("failures", flat=True).first() or 0
    pause = _pause(failures, retry_after)
    until = now + pause if pause else None
    if lease is not None:
        rows.filter(open_until=lease).update(open_until=until)
    if until is not None:
        rows.filter(Q(open_until=None) | Q(open_until__lt=until)).update(open_until=until)


def record(upstream: Upstream, failure: Mapping[str, Any]) -> None:
    """Write a failure of a host that is not the registry's own. It does not count."""
    Upstream.objects.filter(pk=upstream.pk).update(failed_at=timezone.now(), failure=failure)


def _pause(failures: int, retry_after: float) -> timedelta:
    pause = timedelta(seconds=retry_after if failures >= REST_THRESHOLD else 0)
    if failures >= THRESHOLD:
        doublings: int = min(failures - THRESHOLD, 10)
        pause = max(pause, PAUSE * (1 << doublings))
    return min(pause, MAX_PAUSE)


def _leases() -> dict[int, datetime]:
    """Those of this thread by row."""
    if not hasattr(_thread, "leases"):
        _thread.leases = {}
    found: dict[int, datetime] = _thread.leases
    return found


@dataclass
class _Host:
    failures: int = 0
    open_until: float = 0.0


@dataclass
class HostBreakers:
    """Those of this process, for hosts that are not a registry's own."""

    _hosts: dict[tuple[int, str], _Host] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait_of(self, upstream: Upstream, host: str) -> float:
        with self._lock:
            found = self._hosts.get((upstream.pk, host))
            if found is None or not found.open_until:
                return 0
            left = found.open_until - time.monotonic()
            if left > 0:
                return left
            found.open_until = time.monotonic() + LEASE.total_seconds()
            return 0

    def succeeded(self, upstream: Upstream, host: str) -> None:
        with self._lock:
            self._hosts.pop((upstream.pk, host), None)

    def failed(self, upstream: Upstream, host: str, *, retry_after: float = 0) -> None:
        with self._lock:
            if len(self._hosts) >= MAX_HOSTS:
                self._hosts.clear()
            found = self._hosts.setdefault((upstream.pk, host), _Host())
            found.failures += 1
            pause = _pause(found.failures, retry_after).total_seconds()
            found.open_until = time.monotonic() + pause if pause else 0.0

    def clear(self) -> None:
        with self._lock:
            self._hosts.clear()


hosts = HostBreakers()
