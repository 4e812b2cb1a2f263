"""Artifacts attached to a manifest, as the referrers API (end-12) and pages list them, and tags that people moved.

The caller must have checked that the viewer sees the repository. The API knows signatures, SBOMs and attestations from
the manifests' own `subject`; it never looks at the fallback tags `sha256-<hex>` of other registries.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, CharField, OuterRef, Q, QuerySet, Subquery, Sum

from apps.accounts.models import Namespace, User
from apps.artifacts.manifest_format import MEDIA_TYPE
from apps.artifacts.models import Manifest, Tag
from apps.artifacts.names import Digest
from apps.jobs.compiled_queries import CompiledQuery, Slot

MAX_DESCRIPTORS = 1000
MAX_ATTACHMENTS = 20
MAX_BYTES = 4 * 1024 * 1024  # what clients read of an index
# Clients without the referrers API attach by a tag such as `sha256-<hex>.sig`.
_ATTACHED_BY_TAG = r"^sha(256|512)-[0-9a-f]{64,128}"


@dataclass(frozen=True, slots=True)
class Page:
    """`next_after`: the start of the next page; empty on the last page."""

    descriptors: list[dict[str, Any]] = field(default_factory=list)
    next_after: str = ""


def page_of(namespace: Namespace, path: str, subject: Digest, *, artifact_type: str = "", after: int = 0) -> Page:
    """Oldest first; empty for a missing manifest or repository."""
    if artifact_type and not MEDIA_TYPE.fullmatch(artifact_type):
        return Page()  # nor has anything such a type: it is not asked for, as PostgreSQL takes no NUL in a text
    rows = Manifest.objects.filter(repository__namespace=namespace, repository__path=path, subject=str(subject))
    if artifact_type:
        rows = rows.filter(artifact_type=artifact_type)
    if after:
        rows = rows.filter(pk__gt=after)
    sizes = list(rows.order_by("pk").values_list("pk", "size")[: MAX_DESCRIPTORS + 1])
    # As many as fit into one answer, at least one. A manifest is at least as large as its annotations.
    shown: list[int] = []
    total = 0
    for number, size in sizes[:MAX_DESCRIPTORS]:
        total += size
        if shown and total > MAX_BYTES:
            break
        shown.append(number)
    if not shown:
        return Page()
    descriptors = []
    rows = Manifest.objects.filter(pk__in=shown).order_by("pk")
    for row in rows.values_list("media_type", "digest", "size", "artifact_type", "annotations", named=True):
        found: dict[str, Any] = {"mediaType": row.media_type, "digest": row.digest, "size": row.size}
        if row.artifact_type:
            found["artifactType"] = row.artifact_type
        if row.annotations:
            found["annotations"] = dict(sorted(row.annotations.items()))  # databases keep no order
        descriptors.append(found)
    return Page(descriptors, str(shown[-1]) if len(shown) < len(sizes) else "")


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


def _attached() -> QuerySet[Manifest]:
    namespace, path = Slot("namespace", BigIntegerField()), Slot("path", CharField())
    here: dict[str, Any] = {"repository__namespace": namespace, "repository__path": path}
    tags = Tag.objects.filter(**here, name__startswith=Slot("tag", CharField()))
    name = Subquery(tags.filter(manifest=OuterRef("pk")).order_by("name").values("name")[:1])
    size = Sum("blob_edges__blob__blob__size", default=0)
    attached = Q(subject=Slot("digest", CharField())) | Q(pk__in=tags.values("manifest"))
    shown = Manifest.objects.filter(attached, **here).defer("raw", "annotations").select_related("pushed_by")
    return shown.annotate(tag=name, stored=size).order_by("-pushed_at", "-pk")[: MAX_ATTACHMENTS + 1]


_ATTACHED: CompiledQuery[Any] = CompiledQuery(_attached)


def attached_to(namespace: Namespace, path: str, digest: str) -> list[Attachment]:
    """Newest first; attached by subject or by a tag that spells the digest. One query.

    Returns one more than `MAX_ATTACHMENTS` if there are more.
    """
    rows = _ATTACHED(namespace=namespace.pk, path=path, digest=digest, tag=digest.replace(":", "-"))
    return [
        # The tag comes first: what is attached by one has the artifact type of any image.
        Attachment(
            row.tag or row.artifact_type or row.media_type, row.digest, row.stored, row.pushed_at, _name(row.pushed_by)
        )
        for row in rows
    ]


def moved_tags(namespace: Namespace, path: str, *, most: int) -> list[MovedTag]:
    """Tags of neither versions nor attachments; the last moved comes first."""
    rows = Tag.objects.filter(repository__namespace=namespace, repository__path=path)
    rows = rows.exclude(name__regex=_ATTACHED_BY_TAG).select_related("moved_by")
    digest = Subquery(Manifest.objects.filter(pk=OuterRef("manifest")).values("digest"))
    shown = rows.annotate(digest=digest).order_by("-moved_at", "name")[:most]
    return [MovedTag(row.name, row.digest, row.moved_at, _name(row.moved_by)) for row in shown]


def _name(person: User | None) -> str:
    return person.shown_name if person else ""
