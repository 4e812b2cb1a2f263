"""The lag of the copy, for /metrics, the check-up, the status page and Operate. The copy itself is not read."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

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
    """Yield nothing where no copy follows."""
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
    """Return whether the copy is current; empty where none follows."""
    return {"static-copy": following.behind() < LATE} if settings.STATIC_COPY.url else {}


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


def failing() -> QuerySet[Copy]:
    return Copy.objects.filter(url=settings.STATIC_COPY.url).exclude(failure="").order_by("pk")


def why(copy: Copy) -> str:
    """Say to operators why the copy is behind, and since when."""
    since = f"{copy.failing_since:%d %b %H:%M} UTC: " if copy.failing_since else ""
    return f"{since}{copy.failure}"
