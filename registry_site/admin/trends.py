"""The three charts of the overview, from rows that there are anyway: each is one query over the index of a time."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Sum
from django.db.models.functions import TruncDay, TruncHour
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from apps.admin_base import size
from apps.blobs import store
from apps.blobs.models import Blob
from apps.jobs.models import Job
from apps.jobs.queues import queue_of
from apps.portal.frame.charts import Series, bars
from apps.releases.catalogue import download_figures
from apps.releases.models import DownloadCount

DAYS = 30
WEEKS = 12
HOURS = 24
# Jobs of the last hours that were created so much earlier are not counted: the index is that of their creation.
BACKLOG = timedelta(hours=24)
# A disk that fills more slowly is not worth a sentence.
FAR_DAYS = 2 * 365


@dataclass(frozen=True, slots=True)
class Trend:
    """A chart with its one number: `title` says it in words, and `rows` are its figures as a table."""

    name: str
    figure: str
    about: str
    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    worded: Callable[[int], str] = "{:,}".format

    @property
    def picture(self) -> SafeString:
        return bars(self.labels, self.series, title=self.title, worded=self.worded)

    @property
    def rows(self) -> Iterator[tuple[str, list[str]]]:
        for at, label in enumerate(self.labels):
            yield label, [self.worded(one.values[at]) for one in self.series]


def downloads() -> Trend:
    days = download_figures.last_days(timezone.now().date(), DAYS)
    values = download_figures.by_day(DownloadCount.objects.all(), days)
    labels = [f"{day:%d %b}" for day in days]
    title = f"Downloads by day in the last {DAYS} days: {sum(values):,}"
    return Trend("Downloads", f"{sum(values):,}", f"in {DAYS} days", title, labels, [Series("Downloads", values)])


def storage() -> Trend:
    """Show what each week has added, and when the disk is full if it goes on like that."""
    now = timezone.now()
    today = datetime.combine(now.date(), datetime.min.time(), UTC)
    starts = [today - timedelta(days=7 * back + 6) for back in range(WEEKS - 1, -1, -1)]
    by_day = (
        Blob.objects.filter(created_at__gte=starts[0])
        .values_list(TruncDay("created_at", tzinfo=UTC))
        .annotate(bytes=Sum("size"))
        .order_by()
    )
    values = [0] * WEEKS
    for day, added in by_day:
        values[min((day - starts[0]).days // 7, WEEKS - 1)] += added
    title = f"Bytes stored in each of the last {WEEKS} weeks: {size(sum(values))}"
    labels = [f"{start:%d %b}" for start in starts]
    about = f"added in {WEEKS} weeks{_forecast(sum(values))}"
    return Trend("Storage", size(sum(values)), about, title, labels, [Series("Stored", values)], size)


def _forecast(added: int) -> str:
    try:
        free = store.free_bytes()
    except store.StorageUnavailable:
        return ""
    if free is None:
        return ""
    now, words = timezone.now(), f", {size(free)} free"
    days = free * WEEKS * 7 // added if added else FAR_DAYS
    if days >= FAR_DAYS:
        return words
    return f"{words}: full in about {timesince(now, now + timedelta(days=days), depth=1)}"


def queues() -> Trend:
    """Show how many jobs ended in each hour, by their queue."""
    now = timezone.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    hours = [hour - timedelta(hours=back) for back in range(HOURS - 1, -1, -1)]
    ended: dict[str, Counter[datetime]] = defaultdict(Counter)
    rows: Any = (
        Job.objects.filter(created_at__gte=hours[0] - BACKLOG, finished_at__gte=hours[0])
        .values_list("kind", TruncHour("finished_at", tzinfo=UTC))
        .annotate(number=Count("pk"))
        .order_by()
    )
    for kind, at, number in rows:
        ended[queue_of(kind)][at] += number
    names = sorted(ended, key=lambda name: (-ended[name].total(), name))
    series = [Series(name, [ended[name][at] for at in hours], str(tone)) for tone, name in enumerate(names, start=1)]
    total = sum(one.total for one in series)
    title = f"Jobs that ended in each of the last {HOURS} hours: {total:,}"
    labels = [f"{at:%d %b %H:%M}" for at in hours]
    return Trend("Queues", f"{total:,}", f"jobs ended in {HOURS} hours", title, labels, series)
