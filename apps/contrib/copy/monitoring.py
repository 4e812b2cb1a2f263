"""The lag of the copy and of a follower, for /metrics, the check-up, the status page and Operate.

Neither the copy nor the leader is asked: a row says what the writer found, a file what the last pass did.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import inf

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from apps.contrib.copy.follower import trusting
from apps.contrib.copy.models import Copy, Root
from apps.contrib.copy.writing import following

# Changes are in the copy within a second; after this long something is wrong.
LATE = timedelta(minutes=1)
OK, WARN, FAIL = "ok", "warn", "fail"
# State, what was found, and how to fix it.
Told = tuple[str, str, str]


def followed() -> Copy | None:
    """Return the copy that follows every change, as its row says."""
    return Copy.objects.exclude(made_as="").first()


def families() -> Iterator[Metric]:
    """Yield nothing where no copy follows, and no leader is followed."""
    if settings.FOLLOW.url:
        words = "Seconds since the follower last had all that its leader has; +Inf: never."
        yield GaugeMetricFamily("larder_follower_behind_seconds", words, follower_behind())
        failing = float(bool(trusting.read_state().get("error")))
        yield GaugeMetricFamily("larder_follower_failing", "1 while the leader is unavailable or refused.", failing)
    copy = followed()
    if copy is None:
        return
    behind = following.behind().total_seconds()
    yield GaugeMetricFamily("larder_static_copy_behind_seconds", "Age of the oldest change that it lacks.", behind)
    root = Root.objects.filter(copy=copy).only("sequence", "put_at").first()
    unsigned = 0.0 if root is None or root.put_at or not root.sequence else timezone.now().timestamp() - root.sequence
    words = "Age of the manifest that followers and bundles wait for."
    yield GaugeMetricFamily("larder_static_copy_unsigned_seconds", words, max(0.0, unsigned))
    yield GaugeMetricFamily("larder_static_copy_failing", "1 while it cannot be written.", float(bool(copy.failure)))
    yield GaugeMetricFamily("larder_static_copy_addresses", "Modules and providers in it.", copy.addresses.count())


def part_states() -> dict[str, bool]:
    """Return whether the copy, and this follower, are current; without those that there are not."""
    copy = {"static-copy": following.behind() < LATE} if settings.STATIC_COPY.url else {}
    return copy | ({"leader": follower_behind() < LATE.total_seconds()} if settings.FOLLOW.url else {})


def follower_behind() -> float:
    """Return for how many seconds the tree has not had all that the leader has; +Inf before it has had it once."""
    complete_at = trusting.read_state().get("complete_at")
    return (timezone.now() - datetime.fromisoformat(complete_at)).total_seconds() if complete_at else inf


def look() -> Iterator[Told]:
    """Yield what is wrong with the copy, by what its writer last found."""
    if not settings.STATIC_COPY.url:
        yield OK, "no static copy (LARDER_STATIC_COPY_URL)", ""
        return
    copy, behind = followed(), following.behind()
    if copy is None:
        hint = "Start a worker and beat: the first job of a worker writes the copy."
        yield WARN, "nothing has been written into it yet", hint
        return
    lag = f"{behind.total_seconds():,.0f} s behind"
    if copy.failure:
        hint = "Fix this; the writer then continues. Until then the copy serves what was there before."
        yield FAIL, f"{lag}: {copy.failure}", hint
    elif behind >= LATE:
        yield WARN, f"{lag}", "Check that workers of the queue check are running, and not busy with other work."
    else:
        when = f"{copy.current_at:%Y-%m-%d at %H:%M:%S} UTC" if copy.current_at else "not yet"
        yield OK, f"last current {when}", ""


def look_at_leader() -> Iterator[Told]:
    """Yield what the last pass found."""
    if not settings.FOLLOW.url:
        yield OK, "no leader (LARDER_FOLLOW)", ""
        return
    state, late = trusting.read_state(), follower_behind()
    if state.get("error"):
        yield FAIL, state["error"], "The follower serves what it has until this is corrected."
    elif late > LATE.total_seconds():
        missing = state.get("missing", "all")
        yield WARN, f"{missing} addresses are not up to date", "Wait for their bytes; the web process fetches them."
    else:
        yield OK, f"follows {settings.FOLLOW.url}, number {state['sequence']}", ""


def failing() -> QuerySet[Copy]:
    return Copy.objects.filter(url=settings.STATIC_COPY.url).exclude(failure="").order_by("pk")


def why(copy: Copy) -> str:
    """Say to operators why the copy is behind, and since when."""
    since = f"{copy.failing_since:%d %b %H:%M} UTC: " if copy.failing_since else ""
    return f"{since}{copy.failure}"
