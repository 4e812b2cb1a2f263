"""References to blobs: by foreign key from any room, and by digest alone as the `checks` of rooms above find them.

Ask here before removing bytes. registry_site/wiring.py fills in `checks`.
"""

from collections.abc import Callable

from django.db.models import Exists, ManyToOneRel, Model, OuterRef, Q, QuerySet

from apps.blobs.models import Blob

# A condition for a query of blobs: the room refers to this one (`OuterRef("digest")` inside).
ReferenceCheck = Callable[[], Q]
checks: tuple[ReferenceCheck, ...] = ()


def unreferenced(
    rows: QuerySet[Blob], *, besides: ReferenceCheck | None = None, besides_rows_of: type[Model] | None = None
) -> QuerySet[Blob]:
    """Return blobs without a reference, ignoring the check `besides` and one table. `store.remove` decides."""
    keys = (~Q(key) for key in _referring(besides_rows_of))
    return rows.filter(*keys, *(~check() for check in checks if check != besides))


def is_referenced(
    digest: str, *, besides: ReferenceCheck | None = None, besides_rows_of: type[Model] | None = None
) -> bool:
    one = Blob.objects.filter(digest=digest)
    return one.exists() and not unreferenced(one, besides=besides, besides_rows_of=besides_rows_of).exists()


def has_foreign_key(digest: str) -> bool:
    """Return whether a row of any room refers to the blob by foreign key, as repositories do."""
    return any(Blob.objects.filter(key, digest=digest).exists() for key in _referring())


def _referring(besides: type[Model] | None = None) -> list[Exists]:
    return [
        Exists(relation.related_model._base_manager.filter(**{relation.field.name: OuterRef("pk")}))  # noqa: SLF001
        # Hidden ones too: a key whose related_name is "+" is as much a reference.
        for relation in Blob._meta.get_fields(include_hidden=True)  # noqa: SLF001  # Django documents both
        if isinstance(relation, ManyToOneRel) and relation.related_model is not besides
    ]
