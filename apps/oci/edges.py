"""What a manifest names must be in its repository, as large as it says: looked up here, and held by rows."""

from collections.abc import Iterable, Iterator, Sequence

from django.conf import settings
from django.db.models import Q

from apps.blobs import ingest
from apps.blobs.models import State
from apps.oci import blobs, keeping, mounting, packages
from apps.oci.authentication import Caller
from apps.oci.errors import BlobUnknown, ManifestBlobUnknown, ManifestInvalid, ManifestUnknown
from apps.oci.manifest_documents import Descriptor, Document
from apps.oci.models import Manifest, ManifestBlob, ManifestChild, Repository, RepositoryBlob
from apps.oci.references import Digest
from apps.oci.repositories import Found

_AT_ONCE = 500
Held = dict[str, RepositoryBlob]


def claim(caller: Caller, repository: Repository, document: Document) -> None:
    """Rows for what may be read here by a release alone: clients saw it there, and will not push it.

    Not inside a transaction. Raises ManifestBlobUnknown.
    """
    held = _held(repository, document.blobs)
    away = {one.digest: one for one in document.blobs if str(one.digest) not in held and not one.may_be_away}
    found = Found.of(repository)
    for descriptor in away.values():
        try:
            readable = blobs.size_and_source(found, descriptor.digest)
        except BlobUnknown:
            raise _missing(descriptor, "blob") from None
        if readable.inline is None:
            mounting.mount(caller, repository, descriptor.digest, str(repository))
        else:
            with ingest.receive(iter([readable.inline])) as arrival:
                keeping.keep(repository, arrival, descriptor.digest)


def blobs_of(repository: Repository, document: Document) -> list[RepositoryBlob]:
    """The rows of all that is named, locked until the manifest is committed: no sweep takes one of them meanwhile.

    Raises ManifestBlobUnknown, or ManifestInvalid for another size.
    """
    held = _held(repository, document.blobs, lock=True)
    for descriptor in document.blobs:
        row = held.get(str(descriptor.digest))
        if row is not None:
            _check_size(descriptor, row.blob.size)
        elif not descriptor.may_be_away:
            raise _missing(descriptor, "blob")
    return list({row.pk: row for row in held.values()}.values())


def check_children(repository: Repository, document: Document) -> None:
    """Raises ManifestBlobUnknown where the index lists a manifest that is not here, ManifestInvalid for its size."""
    sizes = _sizes_of_manifests(repository, document.children)
    found = Found.of(repository)
    for child in document.children:
        size = sizes.get(str(child.digest))
        if size is None:
            size = _size_of_release(found, child.digest)
        if size is not None:
            _check_size(child, size)
        elif not (child.may_be_away or settings.OCI_SPARSE_INDEXES):
            raise _missing(child, "manifest")


def draw(manifest: Manifest, document: Document, rows: Iterable[RepositoryBlob]) -> None:
    """Write down what the manifest holds."""
    ManifestBlob.objects.bulk_create([ManifestBlob(manifest=manifest, blob=row) for row in rows], batch_size=_AT_ONCE)
    digests = dict.fromkeys(str(child.digest) for child in document.children)
    children = [ManifestChild(manifest=manifest, digest=digest) for digest in digests]
    ManifestChild.objects.bulk_create(children, batch_size=_AT_ONCE)


def _held(repository: Repository, descriptors: Sequence[Descriptor], *, lock: bool = False) -> Held:
    """{digest as it was written: its row}"""
    rows = RepositoryBlob.objects.filter(repository=repository, blob__state=State.READY).select_related("blob")
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    held: Held = {}
    for batch in _batches({descriptor.digest for descriptor in descriptors}):
        named = Q(blob__digest__in=[digest.hex for digest in batch if digest.algorithm == "sha256"])
        named |= Q(blob__sha512__in=[digest.hex for digest in batch if digest.algorithm == "sha512"])
        for row in rows.filter(named).order_by("pk"):
            held[f"sha256:{row.blob.digest}"] = row
            held[f"sha512:{row.blob.sha512}"] = row
    return {str(one.digest): held[str(one.digest)] for one in descriptors if str(one.digest) in held}


def _sizes_of_manifests(repository: Repository, descriptors: Sequence[Descriptor]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for batch in _batches({descriptor.digest for descriptor in descriptors}):
        rows = Manifest.objects.filter(repository=repository, digest__in=[str(digest) for digest in batch])
        sizes.update(rows.values_list("digest", "size"))
    return sizes


def _size_of_release(found: Found, digest: Digest) -> int | None:
    try:
        served = packages.served_by_digest(found, str(digest)) if found.module else None
    except ManifestUnknown:
        return None
    return served.length if served else None


def _batches(digests: set[Digest]) -> Iterator[list[Digest]]:
    in_order = sorted(digests, key=str)
    for start in range(0, len(in_order), _AT_ONCE):
        yield in_order[start : start + _AT_ONCE]


def _check_size(descriptor: Descriptor, size: int) -> None:
    if descriptor.size != size:
        raise ManifestInvalid(f"{descriptor.digest} has {size} bytes, but its descriptor says {descriptor.size}.")


def _missing(descriptor: Descriptor, what: str) -> ManifestBlobUnknown:
    return ManifestBlobUnknown(
        f"The {what} {descriptor.digest} is not in this repository.", mend=f"Push the {what} first."
    )
