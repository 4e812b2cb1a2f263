"""Writing a search document anew, where a defect left it behind. Each kind says how, once, when it is loaded."""

from collections.abc import Callable

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction

from apps.releases.catalogue import search
from apps.releases.models import Release, SearchDoc

Refresh = Callable[[Release], None]
_by_kind: dict[str, Refresh] = {}


def register(kind: str, refresh: Refresh) -> None:
    _by_kind[kind] = refresh


@transaction.atomic
def rebuild(doc: SearchDoc) -> None:
    """Write it anew, or drop it where what it is about is gone."""
    try:
        _by_kind[doc.kind](doc.release)
    except ObjectDoesNotExist:
        search.drop(kind=doc.kind, namespace=doc.namespace, name=doc.name)
