"""Sums of download counts, made in SQL so that a page costs the same for ten rows and ten thousand."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from apps.accounts.models import Namespace
from apps.releases.models import DownloadCount, Release, SearchDoc, State

Counts = QuerySet[DownloadCount]


@dataclass(frozen=True, slots=True)
class Totals:
    ever: int
    week: int
    month: int
    year: int


@dataclass(frozen=True, slots=True)
class VersionTotal:
    release_id: int
    version: str
    lifecycle: str
    count: int


def counts_of_name(*, kind: str, namespace: Namespace, name: str) -> Counts:
    """Return the counts of all versions of one name, including removed ones."""
    return DownloadCount.objects.filter(release__kind=kind, release__namespace=namespace, release__name=name)


def counts_of_release(release: Release) -> Counts:
    return DownloadCount.objects.filter(release=release)


def downloads_of_name(*, kind: str, namespace: Namespace, name: str) -> int:
    """Return `totals(counts_of_name(…)).ever` from one row, cheap enough for a page that everybody opens."""
    docs = SearchDoc.objects.filter(kind=kind, namespace=namespace, name=name)
    return docs.values_list("downloads", flat=True).first() or 0


def last_days(today: date, number: int) -> list[date]:
    """Return that many days up to today."""
    return [today - timedelta(days=back) for back in range(number - 1, -1, -1)]


def totals(counts: Counts, today: date) -> Totals:
    """Sum all days, and the last 7, 30 and 365, in one query."""
    sums = {
        name: Coalesce(Sum("count", filter=Q(day__gt=today - timedelta(days=days))), 0)
        for name, days in {"week": 7, "month": 30, "year": 365}.items()
    }
    return Totals(**counts.aggregate(ever=Coalesce(Sum("count"), 0), **sums))


def ever(counts: Counts) -> int:
    return int(counts.aggregate(ever=Coalesce(Sum("count"), 0))["ever"])


def by_day(counts: Counts, days: list[date]) -> list[int]:
    """Return the sum of each day, in order; 0 for a day without rows."""
    sums = dict(counts.filter(day__gte=days[0]).values_list("day").annotate(n=Sum("count")).order_by("day"))
    return [sums.get(day, 0) for day in days]


def by_version(counts: Counts, days: list[date]) -> list[VersionTotal]:
    """Return the published versions that were fetched in these days, most fetched first."""
    # Not `release__in`: SQLite would make a list of every published release first.
    readable = counts.filter(day__gte=days[0], release__state=State.PUBLISHED, release__quarantined_at=None)
    sums = readable.values("release_id", "release__version", "release__lifecycle").annotate(n=Sum("count"))
    return [
        VersionTotal(row["release_id"], row["release__version"], row["release__lifecycle"], row["n"])
        for row in sums.order_by("-n", "-release__sort_key", "-release_id")
    ]


def by_client(counts: Counts, days: list[date]) -> list[tuple[str, int]]:
    """Return the clients of these days with their sums, most frequent first."""
    sums = counts.filter(day__gte=days[0]).values_list("client").annotate(n=Sum("count"))
    return list(sums.order_by("-n", "client"))


def days_of_versions(counts: Counts, release_ids: Iterable[int], days: list[date]) -> dict[int, list[int]]:
    """Return the sums of each day by release."""
    chosen = list(release_ids)
    found = counts.filter(day__gte=days[0], release__in=chosen).values_list("release_id", "day")
    sums = Counter({(release_id, day): n for release_id, day, n in found.annotate(n=Sum("count")).order_by("day")})
    return {release_id: [sums[release_id, day] for day in days] for release_id in chosen}
