"""People affected by a yank, quarantine or purge: recent downloads of the version, by person and client (D9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Sum
from django.utils import timezone

from apps.lib import versions
from apps.releases.models import DownloadCount, Fetch, Release, ReleaseBlob

DAYS = 30
MAX_PEOPLE = 50
MAX_CLIENTS = 12
MAX_OTHERS = 50


@dataclass(frozen=True, slots=True)
class Affected:
    """`downloads` and `clients` are of the last 30 days; counts of people and anonymous downloads of all time."""

    downloads: int
    clients: Sequence[tuple[str, int]]
    people: Sequence[Fetch]
    people_count: int
    nameless: int


def affected_by(release: Release) -> Affected:
    """Return who fetched the release. Only publishers may see it: the caller asks the gate."""
    since = timezone.now().date() - timedelta(days=DAYS)
    counts = DownloadCount.objects.filter(release=release)
    ever = counts.aggregate(total=Sum("count"))["total"] or 0
    lately = counts.filter(day__gte=since).values("client").annotate(total=Sum("count")).order_by("-total", "client")
    clients = [(row["client"], row["total"]) for row in lately]
    fetches = Fetch.objects.filter(release=release)
    named = fetches.aggregate(total=Sum("count"))["total"] or 0
    people = fetches.filter(last_on__gte=since).select_related("user").order_by("-last_on", "user__username", "pk")
    shown = list(people[: MAX_PEOPLE + 1])
    return Affected(
        downloads=sum(count for _, count in clients),
        clients=clients[:MAX_CLIENTS],
        people=shown[:MAX_PEOPLE],
        people_count=len(shown) if len(shown) <= MAX_PEOPLE else people.count(),
        nameless=max(0, ever - named),
    )


def fallback_of(release: Release) -> str:
    """The version that clients with an open range select once this one is yanked; empty without any."""
    others = Release.objects.listed().filter(kind=release.kind, namespace=release.namespace_id, name=release.name)
    numbers = others.exclude(pk=release.pk).newest_first().values_list("version", flat=True)
    return next((number for number in numbers if not versions.parse(number).is_prerelease), "")


def same_bytes_elsewhere(release: Release) -> list[Release]:
    """Return other published releases that share bytes: a quarantine blocks those, too, and a purge keeps them."""
    digests = [release.digest, *release.blobs.values_list("digest", flat=True)]
    whole = Release.objects.filter(digest__in=digests).values_list("pk", flat=True)
    parts = ReleaseBlob.objects.filter(digest__in=digests).values_list("release")
    others = Release.objects.published().filter(pk__in=whole.union(parts)).exclude(pk=release.pk)
    return list(others.select_related("namespace").order_by("namespace__name", "name", "-sort_key", "pk")[:MAX_OTHERS])
