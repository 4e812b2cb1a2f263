"""Who is hit when a version leaves the lists or its bytes go: who fetched it lately, and with what (D9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q, Sum
from django.utils import timezone

from apps.releases.models import DownloadCount, Fetch, Release, ReleaseBlob

DAYS = 30
PEOPLE = 50
CLIENTS = 12
OTHERS = 50


@dataclass(frozen=True, slots=True)
class Affected:
    """`downloads` and `clients` are of the last 30 days; a person's count, and the nameless, of all time."""

    downloads: int
    clients: Sequence[tuple[str, int]]
    people: Sequence[Fetch]
    people_count: int
    nameless: int


def affected_by(release: Release) -> Affected:
    """For those who publish it (whoever calls has asked the gate): they see who fetched it."""
    since = timezone.now().date() - timedelta(days=DAYS)
    counts = DownloadCount.objects.filter(release=release)
    ever = counts.aggregate(total=Sum("count"))["total"] or 0
    lately = counts.filter(day__gte=since).values("client").annotate(total=Sum("count")).order_by("-total", "client")
    clients = [(row["client"], row["total"]) for row in lately]
    fetches = Fetch.objects.filter(release=release)
    named = fetches.aggregate(total=Sum("count"))["total"] or 0
    people = fetches.filter(last_on__gte=since).select_related("user").order_by("-last_on", "user__username", "pk")
    shown = list(people[: PEOPLE + 1])
    return Affected(
        downloads=sum(count for _, count in clients),
        clients=clients[:CLIENTS],
        people=shown[:PEOPLE],
        people_count=len(shown) if len(shown) <= PEOPLE else people.count(),
        nameless=max(0, ever - named),
    )


def same_bytes_elsewhere(release: Release) -> list[Release]:
    """Other published releases with some of the same bytes: a quarantine blocks those there too, and a purge leaves
    them where they are.
    """
    digests = [release.digest, *release.blobs.values_list("digest", flat=True)]
    parts = ReleaseBlob.objects.filter(digest__in=digests).values("release")
    others = Release.objects.published().filter(Q(digest__in=digests) | Q(pk__in=parts)).exclude(pk=release.pk)
    return list(others.select_related("namespace").order_by("namespace__name", "name", "-sort_key", "pk")[:OTHERS])
