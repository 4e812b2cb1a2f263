"""Rebuild a search document that a defect left outdated. registry_site/wiring.py names a function for each kind."""

from collections.abc import Callable

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction

from apps.releases.catalogue import search
from apps.releases.models import Release, SearchDoc

Refresh = Callable[[Release], None]
refreshers: dict[str, Refresh] = {}


@transaction.atomic
def rebuild(doc: SearchDoc) -> None:
    """Rebuild the document, or drop it if its subject is gone."""
    try:
        refreshers[doc.kind](doc.release)
    except ObjectDoesNotExist:
        search.drop(kind=doc.kind, namespace=doc.namespace, name=doc.name)
