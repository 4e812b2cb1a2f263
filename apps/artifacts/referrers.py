"""Signatures, SBOMs and attestations that are attached to a manifest by their `subject` (end-12).

Known from the manifests themselves; the fallback tags `sha256-<hex>` of other registries are never looked at.
"""

from dataclasses import dataclass, field
from typing import Any

from apps.accounts.models import Namespace
from apps.artifacts.manifest_format import MEDIA_TYPE
from apps.artifacts.models import Manifest
from apps.artifacts.names import Digest
from apps.lib.formats.oci_manifests import IMAGE_INDEX

MAX_DESCRIPTORS = 1000
MAX_BYTES = 4 * 1024 * 1024  # what clients read of an index


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
    shown = _that_fit(sizes)
    if not shown:
        return Page()
    columns = ("media_type", "digest", "size", "artifact_type", "annotations")
    descriptors = [
        _descriptor(*row) for row in Manifest.objects.filter(pk__in=shown).order_by("pk").values_list(*columns)
    ]
    return Page(descriptors, str(shown[-1]) if len(shown) < len(sizes) else "")


def index_of(page: Page) -> dict[str, Any]:
    return {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": page.descriptors}


def _that_fit(sizes: list[tuple[int, int]]) -> list[int]:
    """Return as many as fit into one answer, at least one. A manifest is at least as large as its annotations."""
    fitting: list[int] = []
    total = 0
    for number, size in sizes[:MAX_DESCRIPTORS]:
        total += size
        if fitting and total > MAX_BYTES:
            break
        fitting.append(number)
    return fitting


def _descriptor(
    media_type: str, digest: str, size: int, artifact_type: str, annotations: dict[str, str]
) -> dict[str, Any]:
    found: dict[str, Any] = {"mediaType": media_type, "digest": digest, "size": size}
    if artifact_type:
        found["artifactType"] = artifact_type
    if annotations:
        found["annotations"] = dict(sorted(annotations.items()))  # databases keep no order
    return found
