"""The three charts of the overview, from rows that there are anyway: each is one query over the index of a time."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Q, Sum
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
# Days whose downloads may still be counted: processes write them a moment later, perhaps after midnight.
UNFINISHED = 2
WEEKS = 12
HOURS = 24
SECONDS_OF_STORAGE = 3600
# Jobs of the last hours that were created so much earlier are not counted: the index is that of their creation.
BACKLOG = timedelta(hours=24)
# A disk that fills more slowly is not worth a sentence.
FAR_DAYS = 2 * 365


@dataclass(frozen=True, slots=True)
class Trend:
    """A chart with its one number: `title` says it in words, and `rows` are its figures as a table.

    `nothing` is shown in its place while there is nothing to draw.
    """

    name: str
    figure: str
    about: str
    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    worded: Callable[[int], str] = "{:,}".format
    nothing: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(one.total for one in self.series)

    @property
    def picture(self) -> SafeString:
        return bars(self.labels, self.series, title=self.title, worded=self.worded)

    @property
    def rows(self) -> Iterator[tuple[str, list[str]]]:
        for at, label in enumerate(self.labels):
            yield label, [self.worded(one.values[at]) for one in self.series]


def downloads() -> Trend:
    days = download_figures.last_days(timezone.now().date(), DAYS)
    values = [*_finished(days[0], days[-1]), *download_figures.by_day(DownloadCount.objects.all(), days[-UNFINISHED:])]
    labels = [f"{day:%d %b}" for day in days]
    title = f"Downloads by day in the last {DAYS} days: {sum(values):,}"
    series = [Series("Downloads", values)]
    nothing = f"No downloads in the last {DAYS} days."
    return Trend("Downloads", f"{sum(values):,}", f"in {DAYS} days", title, labels, series, nothing=nothing)


@lru_cache(maxsize=1)
def _finished(first: date, today: date) -> list[int]:
    """Remember the sums of the days that no longer change: a large registry has hundred thousands of rows of them."""
    before = DownloadCount.objects.filter(day__gte=first, day__lte=today - timedelta(days=UNFINISHED))
    return download_figures.by_day(before, download_figures.last_days(today, DAYS)[:-UNFINISHED])


def storage() -> Trend:
    """Show what each week has added, and when the disk is full at this rate."""
    now = timezone.now()
    today = datetime.combine(now.date(), time.min, UTC)
    starts = [today - timedelta(days=7 * back + 6) for back in range(WEEKS - 1, -1, -1)]
    # Of a young registry these are all blobs: they are read once an hour.
    values = cache.get_or_set(f"storage-by-week-{today:%Y-%m-%d}", lambda: _added(starts), SECONDS_OF_STORAGE) or []
    title = f"Bytes stored in each of the last {WEEKS} weeks: {size(sum(values))}"
    labels = [f"{start:%d %b}" for start in starts]
    about = f"added in {WEEKS} weeks{_forecast(sum(values))}"
    nothing = f"Nothing was stored in the last {WEEKS} weeks."
    return Trend("Storage", size(sum(values)), about, title, labels, [Series("Stored", values)], size, nothing=nothing)


def _added(starts: Sequence[datetime]) -> list[int]:
    weeks = {
        f"week_{number}": Sum("size", default=0, filter=_within("created_at", start, timedelta(days=7)))
        for number, start in enumerate(starts)
    }
    return list(Blob.objects.filter(created_at__gte=starts[0]).aggregate(**weeks).values())


def _within(column: str, start: datetime, length: timedelta) -> Q:
    """Match a part of the chart. Truncating a time is a call of Python for each row on SQLite."""
    return Q(**{f"{column}__gte": start, f"{column}__lt": start + length})


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
    parts = {
        f"hour_{number}": Count("pk", filter=_within("finished_at", at, timedelta(hours=1)))
        for number, at in enumerate(hours)
    }
    rows: Any = Job.objects.filter(created_at__gte=hours[0] - BACKLOG, finished_at__gte=hours[0]).order_by()
    ended: defaultdict[str, list[int]] = defaultdict(lambda: [0] * HOURS)
    for row in rows.values("kind").annotate(**parts):
        queue = queue_of(row["kind"])
        ended[queue] = [sum(pair) for pair in zip(ended[queue], (row[part] for part in parts), strict=True)]
    names = sorted(ended, key=lambda name: (-sum(ended[name]), name))
    series = [Series(name, ended[name], str(tone)) for tone, name in enumerate(names, start=1)]
    total = sum(one.total for one in series)
    title = f"Jobs that ended in each of the last {HOURS} hours: {total:,}"
    labels = [f"{at:%d %b %H:%M}" for at in hours]
    nothing = f"No job ended in the last {HOURS} hours."
    return Trend("Queues", f"{total:,}", f"jobs ended in {HOURS} hours", title, labels, series, nothing=nothing)
