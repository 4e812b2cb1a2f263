"""What pages read of a repository, by way of `modules.attachments`."""

from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum

from apps.accounts.models import User
from apps.modules.attachments import Attachment, MovedTag
from apps.modules.models import Module
from apps.oci.models import Manifest, Tag

# `sha256-<hex>.sig`: what is attached by a tag, as clients do it that know no referrers.
_ATTACHED_BY_TAG = r"^sha(256|512)-[0-9a-f]{64,128}"


class Tables:
    def attached(self, module: Module, digest: str, most: int) -> list[Attachment]:
        """By its subject, or by a tag that spells the digest. One query."""
        tags = Tag.objects.filter(**_of(module), name__startswith=digest.replace(":", "-"))
        name = Subquery(tags.filter(manifest=OuterRef("pk")).order_by("name").values("name")[:1])
        size = Sum("blob_edges__blob__blob__size", default=0)
        rows = Manifest.objects.filter(Q(subject=digest) | Q(pk__in=tags.values("manifest")), **_of(module))
        shown = rows.defer("raw", "annotations").select_related("pushed_by").annotate(tag=name, stored=size)
        return [_attachment(row) for row in shown.order_by("-pushed_at", "-pk")[:most]]

    def tags(self, module: Module, most: int) -> list[MovedTag]:
        rows: QuerySet[Tag] = Tag.objects.filter(**_of(module)).exclude(name__regex=_ATTACHED_BY_TAG)
        shown = rows.select_related("moved_by").annotate(digest=Subquery(_digests)).order_by("-moved_at", "name")
        return [MovedTag(row.name, row.digest, row.moved_at, _name(row.moved_by)) for row in shown[:most]]


_digests = Manifest.objects.filter(pk=OuterRef("manifest")).values("digest")


def _attachment(row: Any) -> Attachment:
    """A tag says more: what is attached by one is an image, with the type of any image."""
    kind = row.tag or row.artifact_type or row.media_type
    return Attachment(kind, row.digest, row.stored, row.pushed_at, _name(row.pushed_by))


def _of(module: Module) -> dict[str, object]:
    return {"repository__namespace": module.namespace_id, "repository__path": module.address.path_name.lower()}


def _name(person: User | None) -> str:
    return person.shown_name if person else ""
