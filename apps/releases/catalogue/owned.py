"""What publishers ask about all that is published in their namespaces, which the caller chooses."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.releases.lifecycle.impact import DAYS
from apps.releases.models import DownloadCount, Fetch, Lifecycle, SearchDoc, State

Namespaces = QuerySet[Namespace]


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
