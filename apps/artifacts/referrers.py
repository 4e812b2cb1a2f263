"""What is attached to a manifest: signatures, SBOMs, attestations, by the `subject` that they name (end-12).

Known from the manifests themselves; the fallback tags `sha256-<hex>` of other registries are never looked at.
"""

from dataclasses import dataclass, field
from typing import Any

from apps.accounts.models import Namespace
from apps.artifacts.manifest_format import MEDIA_TYPE
from apps.artifacts.models import Manifest
from apps.artifacts.names import Digest
from apps.lib.formats.oci_manifests import IMAGE_INDEX

MOST = 1000
MOST_BYTES = 4 * 1024 * 1024  # what clients read of an index


@dataclass(frozen=True, slots=True)
class Page:
    """`next_after`: where the next page begins; empty on the last one."""

    descriptors: list[dict[str, Any]] = field(default_factory=list)
    next_after: str = ""


def attached_to(namespace: Namespace, path: str, subject: Digest, *, artifact_type: str = "", after: int = 0) -> Page:
    """Oldest first. Nothing is attached to what is not there, nor in a repository that nobody pushed to yet."""
    if artifact_type and not MEDIA_TYPE.fullmatch(artifact_type):
        return Page()  # nor has anything such a type: it is not asked for, as PostgreSQL takes no NUL in a text
    rows = Manifest.objects.filter(repository__namespace=namespace, repository__path=path, subject=str(subject))
    if artifact_type:
        rows = rows.filter(artifact_type=artifact_type)
    if after:
        rows = rows.filter(pk__gt=after)
    sizes = list(rows.order_by("pk").values_list("pk", "size")[: MOST + 1])
    shown = _that_fit(sizes)
    if not shown:
        return Page()
    columns = ("media_type", "digest", "size", "artifact_type", "annotations")
    descriptors = [
        _descriptor(*row) for row in Manifest.objects.filter(pk__in=shown).order_by("pk").values_list(*columns)
    ]
    return Page(descriptors, str(shown[-1]) if len(shown) < len(sizes) else "")


def document(page: Page) -> dict[str, Any]:
    return {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": page.descriptors}


def _that_fit(sizes: list[tuple[int, int]]) -> list[int]:
    """As many as one answer may hold, but one at least. A manifest is no smaller than its annotations in it."""
    fitting: list[int] = []
    total = 0
    for number, size in sizes[:MOST]:
        total += size
        if fitting and total > MOST_BYTES:
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
