"""Artifacts attached to a manifest, and tags that people moved, for pages.

The caller must have checked that the viewer sees the repository.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, Subquery, Sum

from apps.accounts.models import Namespace, User
from apps.artifacts.models import Manifest, Tag

# Clients without the referrers API attach by a tag such as `sha256-<hex>.sig`.
_ATTACHED_BY_TAG = r"^sha(256|512)-[0-9a-f]{64,128}"


@dataclass(frozen=True, slots=True)
class Attachment:
    """`kind`: its artifact type, or the tag by which an older client attached it. `size`: of all its blobs."""

    kind: str
    digest: str
    size: int
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class MovedTag:
    name: str
    digest: str
    at: datetime
    by: str


def attached_to(namespace: Namespace, path: str, digest: str, *, most: int) -> list[Attachment]:
    """Newest first; attached by subject or by a tag that spells the digest. One query."""
    here = {"repository__namespace": namespace, "repository__path": path}
    tags = Tag.objects.filter(**here, name__startswith=digest.replace(":", "-"))
    name = Subquery(tags.filter(manifest=OuterRef("pk")).order_by("name").values("name")[:1])
    size = Sum("blob_edges__blob__blob__size", default=0)
    rows = Manifest.objects.filter(Q(subject=digest) | Q(pk__in=tags.values("manifest")), **here)
    shown = rows.defer("raw", "annotations").select_related("pushed_by").annotate(tag=name, stored=size)
    return [_attachment(row) for row in shown.order_by("-pushed_at", "-pk")[:most]]


def moved_tags(namespace: Namespace, path: str, *, most: int) -> list[MovedTag]:
    """Tags of neither versions nor attachments; the last moved comes first."""
    rows = Tag.objects.filter(repository__namespace=namespace, repository__path=path)
    rows = rows.exclude(name__regex=_ATTACHED_BY_TAG).select_related("moved_by")
    digest = Subquery(Manifest.objects.filter(pk=OuterRef("manifest")).values("digest"))
    shown = rows.annotate(digest=digest).order_by("-moved_at", "name")[:most]
    return [MovedTag(row.name, row.digest, row.moved_at, _name(row.moved_by)) for row in shown]


def _attachment(row: Any) -> Attachment:
    """Prefer the tag: what is attached by one has the artifact type of any image."""
    kind = row.tag or row.artifact_type or row.media_type
    return Attachment(kind, row.digest, row.stored, row.pushed_at, _name(row.pushed_by))


def _name(person: User | None) -> str:
    return person.shown_name if person else ""
