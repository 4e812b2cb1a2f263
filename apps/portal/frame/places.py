"""Rows of lists of namespaces: with the viewer's role, and how many modules and providers each has."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from apps.accounts.models import Namespace, Role
from apps.releases.models import Kind, SearchDoc


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace. `role` is None where its visibility alone lets the viewer read."""

    namespace: Namespace
    role: Role | None
    module_count: int
    provider_count: int


def places_of(rows: Sequence[tuple[Namespace, Role | None]]) -> list[Place]:
    """Count what the viewer finds in each namespace, in one query: members also find what is only yanked."""
    docs = SearchDoc.objects.filter(namespace__in=[row.pk for row, _ in rows]).order_by()
    counted = docs.values_list("namespace", "kind").annotate(
        all=Count("pk"), shown=Count("pk", filter=Q(is_listed=True))
    )
    found = {(namespace, kind): (every, shown) for namespace, kind, every, shown in counted}
    return [
        Place(row, role, *(found.get((row.pk, kind), (0, 0))[role is None] for kind in (Kind.MODULE, Kind.PROVIDER)))
        for row, role in rows
    ]
