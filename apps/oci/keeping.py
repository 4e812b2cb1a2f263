"""Keeping bytes as a blob of a repository, once they are here and are what they should be."""

from collections.abc import Callable, Iterable, Iterator

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.blobs import ingest
from apps.blobs.ingest import Arrival
from apps.blobs.models import Blob
from apps.jobs import database_availability
from apps.oci.errors import DigestInvalid, TooLarge
from apps.oci.models import Repository, RepositoryBlob
from apps.oci.references import Digest
from apps.releases.publishing import quotas

SETTING = "LARDER_OCI_BLOB_MAX_BYTES"


def limited(chunks: Iterable[bytes], *, already: int = 0) -> Iterator[bytes]:
    """Pass chunks on until the blob is larger than any may be; then raise TooLarge."""
    size, limit = already, settings.OCI_BLOB_MAX_BYTES
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise TooLarge(
                f"The blob is larger than {limit} bytes ({SETTING}).", mend="Send less, or ask an operator for more."
            )
        yield chunk


def keep(
    repository: Repository, arrival: Arrival, digest: Digest, *, ending: Callable[[], None] | None = None
) -> RepositoryBlob:
    """Raises DigestInvalid, QuotaFull. `ending` runs in the transaction after which the blob may be read."""
    _check_digest(arrival, digest)
    database_availability.look_again()
    with transaction.atomic():
        blob = ingest.claim(arrival.fingerprint)
        row = show(repository, blob)
    arrival.keep()
    with transaction.atomic():
        ingest.settle(blob)
        if ending is not None:
            ending()
    return row


def show(repository: Repository, blob: Blob) -> RepositoryBlob:
    """Let the repository's readers have a blob that is locked (`arriving.claim`). Raises QuotaFull."""
    check_quota(repository, blob.size, of=blob)
    row = RepositoryBlob(repository=repository, blob=blob, seen_at=timezone.now())
    RepositoryBlob.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["repository", "blob"], update_fields=["seen_at"]
    )
    return row


def check_quota(repository: Repository, more_bytes: int, *, of: Blob | None = None) -> None:
    """Raises QuotaFull; a blob that the namespace has counts no second time.

    Only inside the transaction that takes the room: until its end it holds the namespace's lock.
    """
    if not any(quotas.limits(repository.namespace)):
        return
    held = RepositoryBlob.objects.filter(repository__namespace=repository.namespace, blob=of)
    if of is None or not held.exists():
        quotas.check(repository.namespace, more_bytes=more_bytes)


def _check_digest(arrival: Arrival, digest: Digest) -> None:
    found = arrival.fingerprint
    if digest.hex != (found.sha256 if digest.algorithm == "sha256" else found.sha512):
        raise DigestInvalid(
            f"The {found.size} bytes that came have the digest sha256:{found.sha256}: expected {digest}.",
            mend="Send the blob again.",
        )
