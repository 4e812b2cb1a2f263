"""The health of the mirrored registries, for /metrics, the check-up and the status page; and the reset of a breaker.

Nothing here goes out, so that a registry that hangs delays neither a scrape nor the check-up.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import inf
from typing import Any

from django.db import transaction
from django.db.models import Count, Min, Q
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from apps.accounts.access.gate import Viewer
from apps.audit.kinds import Kind
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Alarm, AlarmState, Upstream, UpstreamProvider
from apps.contrib.mirror.policy import advisories
from apps.contrib.mirror.records import storage
from apps.jobs import heartbeats, queue
from apps.jobs.models import Job
from apps.lib.errors import Conflict

QUEUE = "upstream"
KINDS = "fetch-upstream-"  # how the kinds of its jobs begin
KIND_OF_LISTS = f"{KINDS}list"
# A fetch that has waited longer has no worker, or its registry hangs.
LONG_WAIT = timedelta(minutes=2)
# Workers report every 30 seconds.
SILENT = timedelta(minutes=2)
LATELY = timedelta(minutes=10)
NEARLY_FULL = 0.9
MAX_NAMED = 10

OK, WARN, FAIL = "ok", "warn", "fail"
# State, what was found, and how to fix it.
Told = tuple[str, str, str]


def is_used() -> bool:
    """Return whether any registry is mirrored: then the queue needs a worker."""
    return Upstream.objects.filter(is_enabled=True).exists()


# --- /metrics -----------------------------------------------------------------------------------------------------

_GAUGES = {
    "up": "0 while the circuit breaker is open, or was within ten minutes without a good answer since.",
    "failures": "Consecutive failed fetches.",
    "last_success_age_seconds": "Seconds since the last valid response of the registry; +Inf: never.",
    "list_age_seconds": "Age of the oldest list of versions.",
    "stale_list_seconds": "Age of the oldest list whose refresh failed: clients get it as it is.",
    "stale_list_limit_seconds": "A list that could not be refreshed is served for so long.",
    "stored_bytes": "Size of the stored packages; the same bytes count once.",
    "quota_bytes": "Maximum size; 0 means no limit.",
    "packages": "Stored packages.",
    "open_alarms": "Alarms that need a decision.",
}


def families() -> Iterator[Metric]:
    """Yield the state of each enabled registry, by its host. A few queries, however many providers there are."""
    rows = list(storage.with_used_bytes(Upstream.objects.filter(is_enabled=True)).order_by("host"))
    if not rows:
        return
    gauges = {
        name: GaugeMetricFamily(f"larder_upstream_{name}", words, labels=["host"]) for name, words in _GAUGES.items()
    }
    now = timezone.now()
    for host, numbers in _numbers(rows, now):
        for name, number in numbers.items():
            gauges[name].add_metric([host], number)
    yield from gauges.values()
    waiting = _oldest_fetch()
    age = 0.0 if waiting is None else max(0.0, (now - waiting).total_seconds())
    yield GaugeMetricFamily("larder_upstream_oldest_fetch_seconds", "Age of the oldest fetch that waits.", age)


def _numbers(rows: list[Any], now: datetime) -> Iterator[tuple[str, dict[str, float]]]:
    known = UpstreamProvider.objects.known().order_by().values("upstream")
    oldest = dict(known.annotate(at=Min("listed_at")).values_list("upstream", "at"))
    stale = dict(known.filter(~Q(failure={})).annotate(at=Min("listed_at")).values_list("upstream", "at"))
    open_ones = Alarm.objects.filter(state=AlarmState.OPEN).order_by().values("upstream")
    alarms = dict(open_ones.annotate(number=Count("pk")).values_list("upstream", "number"))
    for row in rows:
        yield (
            row.host,
            {
                "up": float(not _is_open(row, now)),
                "failures": row.failures,
                "last_success_age_seconds": _age(row.succeeded_at, now, never=inf),
                "list_age_seconds": _age(oldest.get(row.pk), now),
                "stale_list_seconds": _age(stale.get(row.pk), now),
                "stale_list_limit_seconds": row.stale_hours * 3600,
                "stored_bytes": row.used_bytes,
                "quota_bytes": row.quota_bytes,
                "packages": row.stored_packages,
                "open_alarms": alarms.get(row.pk, 0),
            },
        )


def _age(at: datetime | None, now: datetime, *, never: float = 0.0) -> float:
    return never if at is None else max(0.0, (now - at).total_seconds())


def _is_open(row: Upstream, now: datetime) -> bool:
    """Return whether the breaker is open, or was lately and no answer has closed it: there may have been no request
    since.
    """
    return row.open_until is not None and row.open_until > now - LATELY


def _oldest_fetch() -> datetime | None:
    return Job.objects.filter(kind__startswith=KINDS).waiting_since()


# --- The check-up -------------------------------------------------------------------------------------------------


def registries() -> Iterator[Told]:
    """Yield what is wrong with each mirrored registry, by what workers found there; no registry is asked now."""
    rows = list(storage.with_used_bytes(Upstream.objects.filter(is_enabled=True)).order_by("host"))
    if not rows:
        yield OK, "no registry is mirrored", ""
        return
    now, is_well = timezone.now(), True
    for row in rows:
        for told in _wrong_with(row, now):
            is_well = False
            yield told
    if is_well:
        hosts = ", ".join(row.host for row in rows[:MAX_NAMED])
        yield OK, f"{hosts}{' and more' if len(rows) > MAX_NAMED else ''}: no failures, no alarms", ""
    yield from _queue(now)


def _wrong_with(row: Any, now: datetime) -> Iterator[Told]:
    failure = row.failure or {}
    if row.failures or _is_open(row, now):
        since = f", last good answer {row.succeeded_at:%Y-%m-%d at %H:%M} UTC" if row.succeeded_at else ""
        what = failure.get("message", "the last fetch failed")
        where = f" ({failure['url']})" if failure.get("url") else ""
        rule = f", rule {failure['rule']}" if failure.get("rule") else ""
        paused = "; nothing is asked for a while" if _is_open(row, now) else ""
        found = f"{row.host}: {what}{where}{rule}{since}{paused}"
        yield WARN, found, "Stored packages are still served; see docs/runbooks.md, A mirrored registry is down."
    if alarms := Alarm.objects.filter(upstream=row, state=AlarmState.OPEN).count():
        hint = "docs/runbooks.md, A mirrored provider is not what it was."
        yield WARN, f"{row.host}: {alarms} open {'alarm' if alarms == 1 else 'alarms'}", hint
    if row.quota_bytes and row.used_bytes > NEARLY_FULL * row.quota_bytes:
        found = f"{row.host}: {row.used_bytes:,} of {row.quota_bytes:,} bytes are used"
        yield WARN, found, "docs/runbooks.md, The quota of a mirrored registry is full."


def _queue(now: datetime) -> Iterator[Told]:
    hint = "docs/runbooks.md, Fetches from other registries wait."
    newest = heartbeats.newest(QUEUE)
    if newest is None or now - newest > SILENT:
        yield FAIL, "no worker of the queue upstream reports: nothing is fetched", hint
    waiting = _oldest_fetch()
    if waiting is not None and now - waiting > LONG_WAIT:
        yield WARN, f"a fetch has waited for {(now - waiting).total_seconds():.0f} s", hint


def advisory_files() -> Iterator[Told]:
    """Yield the files of LARDER_UPSTREAM_ADVISORIES that say nothing that rules could use."""
    problems = advisories.problems()
    for problem in problems[:MAX_NAMED]:
        yield FAIL, f"{problem.file}: {problem.message}", "Rules by advisory do not see it. Correct or remove the file."
    if len(problems) > MAX_NAMED:
        yield FAIL, f"{len(problems) - MAX_NAMED} more advisories cannot be read", "See the log of a web server."
    if not problems:
        yield OK, "every advisory can be read", ""


# --- The status page ----------------------------------------------------------------------------------------------


def part_states() -> dict[str, bool]:
    """Return whether every mirrored registry is asked now; empty if none is mirrored."""
    rows, now = list(Upstream.objects.filter(is_enabled=True)), timezone.now()
    return {"upstreams": not any(_is_open(row, now) for row in rows)} if rows else {}


# --- What staff do ------------------------------------------------------------------------------------------------


@transaction.atomic
def reset_breaker(upstream: Upstream, *, actor: Viewer) -> None:
    """Ask the registry again from now on, also for what failed a moment ago."""
    Upstream.objects.filter(pk=upstream.pk).update(failures=0, open_until=None)
    upstreams.ask_again(upstream)
    actor.record(Kind.UPSTREAM_CHANGED, subject=upstream.host, change="breaker reset")
    upstream.refresh_from_db()


@transaction.atomic
def refresh_list(provider: UpstreamProvider, *, actor: Viewer) -> None:
    """Queue the refresh of a list of versions before its time. Raises Conflict where nothing would be asked."""
    upstream = provider.upstream
    if not upstream.is_enabled or upstream.is_sealed:
        state = "in offline mode" if upstream.is_enabled else "disabled"
        raise Conflict(f"{upstream} is {state}: lists are not refreshed on demand.", hint="Change that first.")
    fresh_until = provider.listed_at and provider.listed_at + timedelta(seconds=upstream.list_seconds)
    if fresh_until and fresh_until > timezone.now():
        raise Conflict(
            f"Its list was read at {provider.listed_at:%H:%M:%S} UTC, less than {upstream.list_seconds} s ago."
        )
    UpstreamProvider.objects.filter(pk=provider.pk).update(retry_at=None)
    queue.enqueue_once(KIND_OF_LISTS, target=provider.pk, created_by_id=actor.user_id)
    actor.record(Kind.UPSTREAM_CHANGED, subject=str(provider), change="list refreshed")
