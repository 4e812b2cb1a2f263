"""Writing a search document again, where a defect left it behind. Each kind knows how (registry_site/wiring.py)."""

from collections.abc import Callable

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction

from apps.releases.catalogue import search
from apps.releases.models import Release, SearchDoc

Refresh = Callable[[Release], None]
refreshers: dict[str, Refresh] = {}


@transaction.atomic
def rebuild(doc: SearchDoc) -> None:
    """Write it anew, or drop it where what it is about is gone."""
    try:
        refreshers[doc.kind](doc.release)
    except ObjectDoesNotExist:
        search.drop(kind=doc.kind, namespace=doc.namespace, name=doc.name)
