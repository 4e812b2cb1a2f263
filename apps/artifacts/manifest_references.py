"""References of a manifest: all must be in its repository with the size it states. Rows protect them from the gc."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.conf import settings
from django.db.models import Q

from apps.artifacts.errors import ManifestBlobUnknown, ManifestInvalid
from apps.artifacts.manifest_format import Descriptor, ParsedManifest
from apps.artifacts.models import Manifest, ManifestBlob, ManifestChild, Repository, RepositoryBlob
from apps.artifacts.names import Digest
from apps.blobs.models import State

_BATCH_SIZE = 500
Rows = dict[str, RepositoryBlob]


def missing(repository: Repository, parsed: ParsedManifest) -> tuple[list[Descriptor], list[Descriptor]]:
    """Return the required blobs and the listed manifests that have no row in the repository."""
    rows, sizes = _rows_of(repository, parsed.blobs), _sizes_of_manifests(repository, parsed.children)
    blobs = {one.digest: one for one in parsed.blobs if str(one.digest) not in rows and not one.may_be_away}
    children = {one.digest: one for one in parsed.children if str(one.digest) not in sizes}
    return list(blobs.values()), list(children.values())


def blobs_of(repository: Repository, parsed: ParsedManifest) -> list[RepositoryBlob]:
    """Return the rows of all named blobs, locked against the gc until the manifest is committed.

    Raises ManifestBlobUnknown, or ManifestInvalid for another size.
    """
    found = _rows_of(repository, parsed.blobs, lock=True)
    for descriptor in parsed.blobs:
        row = found.get(str(descriptor.digest))
        if row is not None:
            _check_size(descriptor, row.blob.size)
        elif not descriptor.may_be_away:
            raise unknown(descriptor, "blob")
    return list({row.pk: row for row in found.values()}.values())


def check_children(repository: Repository, parsed: ParsedManifest, elsewhere: Mapping[Digest, int | None]) -> None:
    """Raises ManifestBlobUnknown if a listed manifest is missing, ManifestInvalid for another size.

    `elsewhere`: the sizes of manifests that are served in this repository without a row.
    """
    sizes = _sizes_of_manifests(repository, parsed.children)
    for child in parsed.children:
        size = sizes.get(str(child.digest), elsewhere.get(child.digest))
        if size is not None:
            _check_size(child, size)
        elif not (child.may_be_away or settings.OCI_SPARSE_INDEXES):
            raise unknown(child, "manifest")


def create(manifest: Manifest, parsed: ParsedManifest, rows: Iterable[RepositoryBlob]) -> None:
    ManifestBlob.objects.bulk_create(
        [ManifestBlob(manifest=manifest, blob=row) for row in rows], batch_size=_BATCH_SIZE
    )
    digests = dict.fromkeys(str(child.digest) for child in parsed.children)
    children = [ManifestChild(manifest=manifest, digest=digest) for digest in digests]
    ManifestChild.objects.bulk_create(children, batch_size=_BATCH_SIZE)


def _rows_of(repository: Repository, descriptors: Sequence[Descriptor], *, lock: bool = False) -> Rows:
    """Return {digest as written: row}."""
    rows = RepositoryBlob.objects.filter(repository=repository, blob__state=State.READY).select_related("blob")
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    found: Rows = {}
    for batch in _batches({descriptor.digest for descriptor in descriptors}):
        named = Q(blob__digest__in=[digest.hex for digest in batch if digest.algorithm == "sha256"])
        named |= Q(blob__sha512__in=[digest.hex for digest in batch if digest.algorithm == "sha512"])
        for row in rows.filter(named).order_by("pk"):
            found[f"sha256:{row.blob.digest}"] = row
            found[f"sha512:{row.blob.sha512}"] = row
    return {str(one.digest): found[str(one.digest)] for one in descriptors if str(one.digest) in found}


def _sizes_of_manifests(repository: Repository, descriptors: Sequence[Descriptor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for batch in _batches({descriptor.digest for descriptor in descriptors}):
        rows = Manifest.objects.filter(repository=repository, digest__in=[str(digest) for digest in batch])
        sizes.update(rows.values_list("digest", "size"))
    return sizes


def _batches(digests: set[Digest]) -> Iterator[list[Digest]]:
    in_order = sorted(digests, key=str)
    for start in range(0, len(in_order), _BATCH_SIZE):
        yield in_order[start : start + _BATCH_SIZE]


def _check_size(descriptor: Descriptor, size: int) -> None:
    if descriptor.size != size:
        raise ManifestInvalid(f"{descriptor.digest} has {size} bytes, but its descriptor says {descriptor.size}.")


def unknown(descriptor: Descriptor, what: str) -> ManifestBlobUnknown:
    return ManifestBlobUnknown(
        f"The {what} {descriptor.digest} is not in this repository.", hint=f"Push the {what} first."
    )
