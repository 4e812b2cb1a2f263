"""Store received bytes as a blob of a repository, after checking their digest and the room for them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.artifacts.errors import DigestInvalid
from apps.artifacts.models import Repository, RepositoryBlob
from apps.artifacts.names import Digest
from apps.blobs import ingest
from apps.blobs.ingest import Arrival
from apps.blobs.models import Blob
from apps.jobs import database_availability
from apps.lib.errors import TooLarge

SETTING = "LARDER_OCI_BLOB_MAX_BYTES"


class RequireRoom(Protocol):
    """Raises if a namespace has no room for so many more bytes. With a row of `counted` it has them already.

    Only `releases`, above, knows what else takes room there, so callers bring the check along. It runs in the
    transaction that takes the room.
    """

    def __call__(self, namespace: Namespace, more_bytes: int, *, counted: QuerySet[Any] | None = None) -> None: ...


def limited(chunks: Iterable[bytes], *, already: int = 0) -> Iterator[bytes]:
    """Yield chunks until the blob exceeds the limit; then raise TooLarge."""
    size, limit = already, settings.OCI_BLOB_MAX_BYTES
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise TooLarge(
                f"The blob is larger than {limit} bytes ({SETTING}).", hint="Send less, or ask an operator for more."
            )
        yield chunk


def store_blob(
    repository: Repository,
    arrival: Arrival,
    digest: Digest,
    *,
    require_room: RequireRoom,
    ending: Callable[[], None] | None = None,
) -> RepositoryBlob:
    """Raises DigestInvalid, and what `require_room` raises.

    `ending` runs in the transaction after which the blob may be read.
    """
    found = arrival.fingerprint
    if digest.hex != (found.sha256 if digest.algorithm == "sha256" else found.sha512):
        raise DigestInvalid(
            f"The {found.size} bytes that came have the digest sha256:{found.sha256}: expected {digest}.",
            hint="Send the blob again.",
        )
    database_availability.release_connection()
    with transaction.atomic():
        blob = ingest.claim(found)
        row = add(repository, blob, require_room=require_room)
    arrival.store()
    with transaction.atomic():
        ingest.mark_ready(blob)
        if ending is not None:
            ending()
    return row


def add(repository: Repository, blob: Blob, *, require_room: RequireRoom) -> RepositoryBlob:
    """Let readers of the repository read a locked blob (`ingest.claim`).

    A blob that the namespace already has takes no more room.
    """
    counted = RepositoryBlob.objects.filter(repository__namespace=repository.namespace, blob=blob)
    require_room(repository.namespace, blob.size, counted=counted)
    row = RepositoryBlob(repository=repository, blob=blob, seen_at=timezone.now())
    RepositoryBlob.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["repository", "blob"], update_fields=["seen_at"]
    )
    return row


def mount(repository: Repository, sha256: str, *, require_room: RequireRoom) -> RepositoryBlob | None:
    """Let readers of the repository read a stored blob; None if it is no longer stored. Raises what `add` raises."""
    with transaction.atomic():
        blob = ingest.lock_ready(sha256)
        return add(repository, blob, require_room=require_room) if blob else None
