"""Sums of download counts, made in SQL so that a page costs the same for ten rows and ten thousand."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, TypeVar

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.accounts.models import Namespace, Team
from apps.releases.lifecycle.impact import DAYS
from apps.releases.models import DownloadCount, Fetch, Lifecycle, Release, SearchDoc, State, TeamDownload

Counts = QuerySet[DownloadCount]
TeamCounts = QuerySet[TeamDownload]
AnyCounts = TypeVar("AnyCounts", QuerySet[DownloadCount], QuerySet[TeamDownload])
Namespaces = QuerySet[Namespace]


@dataclass(frozen=True, slots=True)
class Totals:
    ever: int
    week: int
    month: int
    year: int


@dataclass(frozen=True, slots=True)
class TeamTotal:
    """`account` is a service account of the team, empty for its people."""

    team_id: int
    account_id: int | None
    team: str
    account: str
    count: int

    @property
    def name(self) -> str:
        return self.account or self.team


@dataclass(frozen=True, slots=True)
class VersionTotal:
    release_id: int
    version: str
    lifecycle: str
    count: int


def counts_of_name(*, kind: str, namespace: Namespace, name: str) -> Counts:
    """Return the counts of all versions of one name, including removed ones."""
    return DownloadCount.objects.filter(release__kind=kind, release__namespace=namespace, release__name=name)


def teams_of_name(*, kind: str, namespace: Namespace, name: str) -> TeamCounts:
    return TeamDownload.objects.filter(release__kind=kind, release__namespace=namespace, release__name=name)


def counts_of_release(release: Release) -> Counts:
    return DownloadCount.objects.filter(release=release)


def teams_of_release(release: Release) -> TeamCounts:
    return TeamDownload.objects.filter(release=release)


def discouraged(counts: AnyCounts) -> AnyCounts:
    """Only of versions that are deprecated or yanked, and may be read."""
    return counts.filter(
        release__state=State.PUBLISHED,
        release__quarantined_at=None,
        release__lifecycle__in=[Lifecycle.DEPRECATED, Lifecycle.YANKED],
    )


def downloads_of_name(*, kind: str, namespace: Namespace, name: str) -> int:
    """Return `totals(counts_of_name(…)).ever` from one row, cheap enough for a page that everyone opens."""
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


def by_team(counts: TeamCounts, days: list[date], teams: QuerySet[Team]) -> list[TeamTotal]:
    """Return these teams and their service accounts with their sums, most first."""
    fields = ("team", "account", "team__name", "account__username")
    sums = counts.filter(day__gte=days[0], team__in=teams).values_list(*fields).annotate(n=Sum("count"))
    rows = sums.order_by("-n", "team__name", "account__username")
    return [TeamTotal(team, account, name, username or "", n) for team, account, name, username, n in rows]


def teamless(releases: QuerySet[Release], days: list[date]) -> int:
    """Count people in no team who fetched one of the releases: `by_team` has none of them."""
    fetches = Fetch.objects.filter(release__in=releases, last_on__gte=days[0], user__is_service=False)
    return fetches.filter(user__memberships=None).values("user").distinct().count()


def days_of(counts: AnyCounts, what: Sequence[str], keys: Iterable[Any], days: list[date]) -> dict[Any, list[int]]:
    """Return the sums of each day by the columns `what`, one or several; of several, keys are tuples."""
    chosen = list(keys)
    rows = counts.filter(day__gte=days[0]).values_list(*what, "day").annotate(n=Sum("count")).order_by("day")
    if len(what) == 1:
        rows = rows.filter(**{f"{what[0]}__in": chosen})
    sums = Counter({(key[0] if len(key) == 1 else tuple(key), day): n for *key, day, n in rows})
    return {key: [sums[key, day] for day in days] for key in chosen}


@dataclass(frozen=True, slots=True)
class StillUsed:
    """Downloads of a deprecated or yanked version in the last 30 days; `people` are those who were signed in."""

    kind: str
    namespace: str
    name: str
    version: str
    lifecycle: str
    downloads: int
    people: int


def docs_in(namespaces: Namespaces) -> QuerySet[SearchDoc]:
    """Modules and providers, most downloaded first, yanked ones included."""
    docs = SearchDoc.objects.filter(namespace__in=namespaces)
    return docs.select_related("namespace").order_by("-downloads", "sort_key", "pk")


def recent_downloads(docs: Iterable[SearchDoc]) -> dict[int, int]:
    """Downloads in the last 30 days by primary key of the entry, in one query."""
    shown = {(doc.kind, doc.namespace_id, doc.name): doc.pk for doc in docs}
    counts = DownloadCount.objects.filter(
        day__gte=_since(),
        release__namespace__in={namespace for _, namespace, _ in shown},
        release__name__in={name for _, _, name in shown},
    )
    keys = ("release__kind", "release__namespace", "release__name")
    sums = counts.order_by().values_list(*keys).annotate(n=Sum("count"))
    return {shown[kind, namespace, name]: n for kind, namespace, name, n in sums if (kind, namespace, name) in shown}


def still_used(namespaces: Namespaces, most: int) -> list[StillUsed]:
    """Deprecated and yanked versions that clients still fetch, most fetched first, in one query."""
    since = _since()
    counts = DownloadCount.objects.filter(
        day__gte=since,
        release__namespace__in=namespaces,
        release__state=State.PUBLISHED,
        release__quarantined_at=None,
        release__lifecycle__in=[Lifecycle.DEPRECATED, Lifecycle.YANKED],
    )
    fetches = Fetch.objects.filter(release=OuterRef("release_id"), last_on__gte=since).order_by()
    people: Any = fetches.values("release").annotate(n=Count("pk")).values("n")
    fields = ("kind", "namespace__name", "name", "version", "lifecycle")
    rows = counts.values_list("release_id", *(f"release__{field}" for field in fields)).annotate(
        n=Sum("count"), people=Coalesce(Subquery(people, output_field=IntegerField()), 0)
    )
    return [StillUsed(*row[1:]) for row in rows.order_by("-n", "-release_id")[:most]]


def _since() -> Any:
    return timezone.now().date() - timedelta(days=DAYS)
