"""What nobody needs in the repositories, as queries (oci.md 7.7). `gc` looks again before it acts."""

from collections.abc import Callable
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat, Substr

from apps.artifacts.models import Manifest, ManifestBlob, ManifestChild, RepositoryBlob, Tag, UploadSession
from apps.blobs import references
from apps.blobs.models import Blob

# Of rows that have a `repository`: whether a room above needs the manifest whose digest is in that column.
Needs = Callable[[str], Q]
asked: tuple[Needs, ...] = ()  # by registry_site/wiring.py


def uploads(now: datetime) -> QuerySet[UploadSession]:
    """Those that have lapsed, and that nobody is sending to at this moment."""
    return UploadSession.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), expires_at__lt=now)


# What is attached by a tag that spells a digest, as clients do it that know no referrers (cosign 2).
_SPELLS_DIGEST = r"^sha256-[0-9a-f]{64}(\.[a-z]+)?$"


def tags(before: datetime) -> QuerySet[Tag]:
    """Those that attach something to what is not there, or not there any more."""
    spelt = Concat(Value("sha256:"), Substr("name", len("sha256-") + 1, 64))
    subjects = Manifest.objects.filter(repository=OuterRef("repository"), digest=OuterRef("spelt"))
    rows = Tag.objects.filter(name__regex=_SPELLS_DIGEST, moved_at__lt=before).annotate(spelt=spelt)
    return rows.filter(~Exists(subjects), ~_is_needed("spelt"))


def manifests(before: datetime) -> QuerySet[Manifest]:
    """Those that no tag, index or release leads to, and that are attached to nothing which is there.

    Where a subject is gone, or has not come yet, what is attached to it is only as old as its own last push.
    """
    here = {"repository": OuterRef("repository")}
    tagged = Tag.objects.filter(manifest=OuterRef("pk"))
    listed = ManifestChild.objects.filter(manifest__repository=OuterRef("repository"), digest=OuterRef("digest"))
    subjects = Manifest.objects.filter(digest=OuterRef("subject"), **here)
    is_attached = ~Q(subject="") & (Q(Exists(subjects)) | _is_needed("subject"))
    rows = Manifest.objects.filter(seen_at__lt=before)
    return rows.filter(~Q(Exists(tagged)), ~Q(Exists(listed)), ~_is_needed("digest")).exclude(is_attached)


def repository_blobs(before: datetime) -> QuerySet[RepositoryBlob]:
    """Those that no manifest names, and that no pusher was told of lately."""
    edges = ManifestBlob.objects.filter(blob=OuterRef("pk"))
    return RepositoryBlob.objects.filter(~Exists(edges), seen_at__lt=before)


def blobs(before: datetime, now: datetime) -> QuerySet[Blob]:
    """Those that neither a repository nor a release needs, and that nobody is removing at this moment."""
    free = Q(leaving_until=None) | Q(leaving_until__lt=now)
    return references.unreferenced(Blob.objects.filter(free, created_at__lt=before))


def _is_needed(column: str) -> Q:
    return reduce(or_, (needs(column) for needs in asked), Q(pk__in=[]))
