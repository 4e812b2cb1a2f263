"""Queries for what nobody needs in the repositories (oci.md 7.7). `gc` asks again before it acts."""

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
reference_checks: tuple[Needs, ...] = ()  # by registry_site/wiring.py


def uploads(now: datetime) -> QuerySet[UploadSession]:
    """Expired, and without a lease."""
    return UploadSession.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), expires_at__lt=now)


# Clients without the referrers API (cosign 2) attach by a tag that spells a digest.
_SPELLS_DIGEST = r"^sha256-[0-9a-f]{64}(\.[a-z]+)?$"


def tags(before: datetime) -> QuerySet[Tag]:
    """Tags that attach something to a missing manifest."""
    spelt = Concat(Value("sha256:"), Substr("name", len("sha256-") + 1, 64))
    subjects = Manifest.objects.filter(repository=OuterRef("repository"), digest=OuterRef("spelt"))
    rows = Tag.objects.filter(name__regex=_SPELLS_DIGEST, moved_at__lt=before).annotate(spelt=spelt)
    return rows.filter(~Exists(subjects), ~_is_needed("spelt"))


def manifests(before: datetime) -> QuerySet[Manifest]:
    """Manifests that no tag, index or release needs and that are attached to no existing manifest.

    If a subject is missing, the age of an attached manifest counts from its own last push.
    """
    here = {"repository": OuterRef("repository")}
    tagged = Tag.objects.filter(manifest=OuterRef("pk"))
    listed = ManifestChild.objects.filter(manifest__repository=OuterRef("repository"), digest=OuterRef("digest"))
    subjects = Manifest.objects.filter(digest=OuterRef("subject"), **here)
    is_attached = ~Q(subject="") & (Q(Exists(subjects)) | _is_needed("subject"))
    rows = Manifest.objects.filter(seen_at__lt=before)
    return rows.filter(~Q(Exists(tagged)), ~Q(Exists(listed)), ~_is_needed("digest")).exclude(is_attached)


def repository_blobs(before: datetime) -> QuerySet[RepositoryBlob]:
    """Blobs that no manifest names and no publisher was told about lately."""
    referring = ManifestBlob.objects.filter(blob=OuterRef("pk"))
    return RepositoryBlob.objects.filter(~Exists(referring), seen_at__lt=before)


def blobs(before: datetime, now: datetime) -> QuerySet[Blob]:
    """Blobs that neither a repository nor a release needs and nobody is removing."""
    free = Q(deleting_until=None) | Q(deleting_until__lt=now)
    return references.unreferenced(Blob.objects.filter(free, created_at__lt=before))


def _is_needed(column: str) -> Q:
    return reduce(or_, (needs(column) for needs in reference_checks), Q(pk__in=[]))
