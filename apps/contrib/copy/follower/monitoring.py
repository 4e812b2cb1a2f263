"""The lag of a follower, for /metrics, the check-up and the status page. The leader itself is not asked."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import inf

from django.conf import settings
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from apps.contrib.copy.follower import trusting

LATE = timedelta(minutes=1)


def behind() -> float:
    """Return for how many seconds the tree has not had all that the leader has; +Inf before it has had it once."""
    complete_at = trusting.read_state().get("complete_at")
    return (timezone.now() - datetime.fromisoformat(complete_at)).total_seconds() if complete_at else inf


def families() -> Iterator[Metric]:
    """Yield nothing where no leader is followed."""
    if settings.FOLLOW.url:
        state = trusting.read_state()
        words = "Seconds since the follower last had all that its leader has; +Inf: never."
        yield GaugeMetricFamily("larder_follower_behind_seconds", words, behind())
        failing = float(bool(state.get("error")))
        yield GaugeMetricFamily("larder_follower_failing", "1 while the leader is unavailable or refused.", failing)


def part_states() -> dict[str, bool]:
    """Return whether the follower is current; empty where none is one."""
    return {"leader": behind() < LATE.total_seconds()} if settings.FOLLOW.url else {}


def look() -> Iterator[tuple[str, str, str]]:
    """Yield what the last pass found."""
    if not settings.FOLLOW.url:
        yield "ok", "no leader (LARDER_FOLLOW)", ""
        return
    state, late = trusting.read_state(), behind()
    if state.get("error"):
        yield "fail", state["error"], "The follower serves what it has until this is corrected."
    elif late > LATE.total_seconds():
        missing = state.get("missing", "all")
        yield "warn", f"{missing} addresses are not up to date", "Wait for their bytes; the web process fetches them."
    else:
        yield "ok", f"follows {settings.FOLLOW.url}, number {state['sequence']}", ""
