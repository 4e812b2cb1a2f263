"""Rebuild search documents that a defect or an older Larder left outdated. registry_site/wiring.py names refreshers."""

from collections.abc import Callable

from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import F, Q, QuerySet

from apps.releases.catalogue import indexing
from apps.releases.models import Release, SearchDoc
from apps.releases.search_rows import SearchGram, SearchWord

Refresh = Callable[[Release], None]
refreshers: dict[str, Refresh] = {}
BATCH_SIZE = 100


@transaction.atomic
def rebuild(doc: SearchDoc) -> None:
    """Rebuild the document, or drop it if its subject is gone."""
    try:
        refreshers[doc.kind](doc.release)
    except ObjectDoesNotExist:
        indexing.drop(kind=doc.kind, namespace=doc.namespace, name=doc.name)


def outdated() -> QuerySet[SearchDoc]:
    """Documents whose words an older Larder wrote."""
    return SearchDoc.objects.filter(Q(indexed_release=None) | ~Q(indexed_release=F("release")))


def rebuild_outdated() -> int:
    """Rebuild one batch of them; return how many."""
    docs = outdated().order_by("pk").select_related("namespace", "release__namespace")
    count = 0
    for doc in docs[:BATCH_SIZE]:
        rebuild(doc)
        count += 1
    return count


def rebuild_all_outdated() -> int:
    return sum(iter(rebuild_outdated, 0))


def rebuild_all() -> int:
    """Rebuild every document, and drop the spellings of words that nothing has any more."""
    SearchGram.objects.all().delete()
    SearchWord.objects.all().delete()
    SearchDoc.objects.update(indexed_release=None)
    return rebuild_all_outdated()
