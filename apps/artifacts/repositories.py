"""Rows of repositories: locked by pushes, counted by quotas, emptied by purges."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Sum

from apps.accounts.models import Namespace
from apps.artifacts.models import Manifest, Repository, RepositoryBlob
from apps.blobs.models import Blob


@contextmanager
def locked(number: int) -> Iterator[Repository | None]:
    """Open a transaction in which no other push writes a manifest or moves a tag there. New blobs do not wait for
    it.
    """
    with transaction.atomic():
        rows = Repository.objects.select_for_update(no_key=True, of=("self",)).select_related("namespace")
        yield rows.filter(pk=number).first()


def stored_bytes(namespace: Namespace, *, beside: QuerySet[Any]) -> int:
    """Each blob of a namespace's repositories once, and each manifest, which is stored in the database.

    `beside`: rows with a `digest`, a sha256, whose bytes are counted elsewhere.
    """
    owned = RepositoryBlob.objects.filter(repository__namespace=namespace, blob=OuterRef("pk"))
    blobs = Blob.objects.filter(Exists(owned), ~Exists(beside.filter(digest=OuterRef("digest"))))
    manifests = Manifest.objects.filter(repository__namespace=namespace)
    return sum(rows.aggregate(stored=Sum("size"))["stored"] or 0 for rows in (blobs, manifests))


def stored_by(*columns: str, beside: QuerySet[Any]) -> QuerySet[Any]:
    """Rank groups of repositories by the bytes of their blobs, the largest first: rows of the columns and `stored`.

    `beside`: rows with a `namespace` and a `digest`, whose bytes are counted elsewhere.
    """
    elsewhere = beside.filter(namespace=OuterRef("repository__namespace"), digest=OuterRef("blob__digest"))
    groups: QuerySet[Any] = RepositoryBlob.objects.filter(~Exists(elsewhere)).values(*columns)
    ranked: QuerySet[Any] = groups.annotate(stored=Sum("blob__size")).order_by("-stored", *columns)
    return ranked


def contents_of(namespace: Namespace) -> str:
    """Describe what keeps a namespace from being deleted; empty if nothing does."""
    manifests = Manifest.objects.filter(repository__namespace=namespace).count()
    blobs = RepositoryBlob.objects.filter(repository__namespace=namespace).count()
    return f"what was pushed over OCI ({manifests:,} manifests, {blobs:,} blobs)" if manifests or blobs else ""


def drop(namespace: Namespace, path: str, *, manifests: Collection[str], blob: str = "") -> None:
    """Take manifests out of a repository, and a blob (by its sha256) with every manifest that names it."""
    here = {"repository__namespace": namespace, "repository__path": path}
    Manifest.objects.filter(**here, digest__in=manifests).delete()
    if blob:
        rows = RepositoryBlob.objects.filter(**here, blob__digest=blob)
        Manifest.objects.filter(pk__in=Manifest.objects.filter(blob_edges__blob__in=rows).values("pk")).delete()
        rows.delete()
