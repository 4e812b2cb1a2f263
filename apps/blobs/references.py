"""Who needs a blob: every row that refers to it by a foreign key, and what rooms above know by its digest alone.

Whoever removes bytes asks here. registry_site/wiring.py says whom to ask.
"""

from collections.abc import Callable

from django.db.models import Exists, ForeignKey, OuterRef, Q, QuerySet

from apps.blobs.models import Blob

# Of a query for blobs: whether something of that room needs this one (`OuterRef("digest")` inside).
Holder = Callable[[], Q]
asked: tuple[Holder, ...] = ()


def unheld(rows: QuerySet[Blob], *, but: Holder | None = None) -> QuerySet[Blob]:
    """Those of them that nobody needs, `but` perhaps that one. Only a look: `store.remove` decides."""
    return rows.filter(*(~Q(holds) for holds in _referring()), *(~holder() for holder in asked if holder != but))


def is_held(digest: str, *, but: Holder | None = None) -> bool:
    one = Blob.objects.filter(digest=digest)
    return one.exists() and not unheld(one, but=but).exists()


def is_referred_to(digest: str) -> bool:
    """Whether a row of any room refers to the blob by its key: repositories do."""
    return any(Blob.objects.filter(holds, digest=digest).exists() for holds in _referring())


def _referring() -> list[Exists]:
    return [
        Exists(relation.related_model._base_manager.filter(**{relation.field.name: OuterRef("pk")}))  # noqa: SLF001
        for relation in Blob._meta.related_objects  # noqa: SLF001  # Django documents it, and the manager above
        if isinstance(relation.field, ForeignKey)
    ]
