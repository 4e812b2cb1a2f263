"""Push a blob: begin a session, append bytes, finish it with the digest that they must have, and mount it elsewhere.

A request of a session holds no lock and no transaction while its bytes come in: it takes the session's lease, or (the
one that brings everything at once) only sees at the end whether the session is still as it found it.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from itertools import chain
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.reauthorising import authorised_to_the_end
from apps.accounts.models import Namespace
from apps.artifacts import chunked
from apps.artifacts.chunked import Chunks
from apps.artifacts.errors import DigestInvalid, OutOfOrder, UploadInvalid
from apps.artifacts.models import Repository, RepositoryBlob, UploadChunk, UploadSession
from apps.artifacts.names import Digest
from apps.audit.kinds import Kind
from apps.blobs import ingest, store
from apps.blobs.ingest import Arrival
from apps.blobs.models import Blob
from apps.jobs import database_availability
from apps.lib.errors import CredentialsRequired, TooLarge
from apps.lib.formats.fingerprints import Fingerprint

# What is staged is swept after 24 hours: a session must end before its first chunk goes.
LIFETIME = timedelta(hours=20)
SETTING = "oci_blob_max_bytes of LARDER_LIMITS"


class RequireRoom(Protocol):
    """Raises if a namespace has no room for so many more bytes. With a row of `counted` it has them already.

    Only `releases`, above, knows what else takes room there, so callers bring the check along. It runs in the
    transaction that takes the room.
    """

    def __call__(self, namespace: Namespace, more_bytes: int, *, counted: QuerySet[Any] | None = None) -> None: ...


def begin_session(viewer: Viewer, repository: Repository) -> UploadSession:
    if viewer.user is None:
        raise CredentialsRequired("Pushing needs credentials.", hint="Send an API token.")
    return UploadSession.objects.create(
        repository=repository, user=viewer.user, token=viewer.token, expires_at=timezone.now() + LIFETIME
    )


def own(viewer: Viewer, namespace: Namespace, path: str, number: uuid.UUID) -> UploadSession:
    """Return the viewer's session in a repository, begun with any of their tokens. Raises UploadUnknown."""
    rows = UploadSession.objects.select_related("repository").filter(
        repository__namespace=namespace, repository__path=path
    )
    session = rows.filter(pk=number, user=viewer.user_id, expires_at__gt=timezone.now()).first()
    if session is None:
        raise chunked.unknown()
    session.repository.namespace = namespace
    return session


def append(session: UploadSession, chunks: Chunks, *, start: int | None = None, length: int | None = None) -> None:
    """Take a chunk. Raises OutOfOrder unless it begins where the last one ended; the session stays open.

    `start` and `length` are what the client says of it; without them it is what comes next. A broken or wrong chunk
    leaves the session as it was.
    """
    lease, key = chunked.take_lease(session, start), ingest.new_key()
    try:
        came = store.stage(key, chunked.renewing(session, lease, limited(chunks, already=session.size)))
        may_be_taken = False
        try:
            _check_length(came.size, length)
            database_availability.release_connection()
            with transaction.atomic():
                chunked.take(session, lease, came.size)
                if came.size:
                    UploadChunk.objects.create(
                        session=session,
                        start=session.size,
                        size=came.size,
                        staging_key=key,
                        sha256=came.digest,
                        sha512=came.sha512,
                    )
                may_be_taken = True
        except BaseException:
            # A commit that broke off may have come through, and then the upload has these bytes; else they are swept.
            if not may_be_taken:
                store.discard_staged(key)
            raise
    except BaseException:
        chunked.give_back(session, lease)
        raise
    session.size += came.size
    if not came.size:
        store.discard_staged(key)


def finish(
    session: UploadSession,
    digest: Digest,
    chunks: Chunks,
    *,
    authorise: Callable[[], None],
    require_room: RequireRoom,
    start: int | None = None,
    length: int | None = None,
) -> RepositoryBlob:
    """Take the last chunk, if there is one, and store the blob. Raises DigestInvalid, which ends the session.

    `authorise` is called again where several chunks are joined, which takes as long as storage needs to read them.
    """
    if start not in (None, session.size):
        raise OutOfOrder(session.size)
    if session.size:
        rest = iter(chunks)
        if (first := next(rest, None)) is not None:
            append(session, chain([first], rest), start=start, length=length)
    staged = list(session.chunks.order_by("start")) if session.size else []
    if sum(chunk.size for chunk in staged) != session.size:
        raise chunked.unknown()  # another request has just ended it
    try:
        with _joined(staged, authorise, digest) if staged else _received(chunks, digest) as arrival:
            if not staged:
                _check_length(arrival.fingerprint.size, length)
            row = store_blob(
                session.repository, arrival, digest, require_room=require_room, ending=lambda: _end(session)
            )
    except DigestInvalid:
        cancel(session)
        raise
    except store.Missing:  # another request has finished it, and its chunks are gone
        raise chunked.unknown() from None
    _discard(staged)
    return row


def cancel(session: UploadSession) -> None:
    staged = list(session.chunks.all())
    UploadSession.objects.filter(pk=session.pk).delete()
    _discard(staged)


@transaction.atomic
def end(session: UploadSession, *, actor: Viewer) -> None:
    """Like `cancel`, by an operator. The staged bytes go with the commit."""
    actor.record(
        Kind.UPLOAD_ENDED,
        subject=str(session.repository),
        upload=str(session.pk),
        size=session.size,
    )
    staged = list(session.chunks.all())
    UploadSession.objects.filter(pk=session.pk).delete()
    transaction.on_commit(lambda: _discard(staged))


def whole(repository: Repository, digest: Digest, chunks: Chunks, *, require_room: RequireRoom) -> RepositoryBlob:
    """Store a blob that comes in one request, without a session. Raises DigestInvalid."""
    with _received(chunks, digest) as arrival:
        return store_blob(repository, arrival, digest, require_room=require_room)


def staging_keys(using: str) -> set[str]:
    """Return the staging keys of all chunks, as that database has them."""
    return set(UploadChunk.objects.using(using).values_list("staging_key", flat=True))


def limited(chunks: Iterable[bytes], *, already: int = 0) -> Iterator[bytes]:
    """Yield chunks until the blob exceeds the limit; then raise TooLarge."""
    size, limit = already, settings.OCI_BLOB_MAX_BYTES
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise TooLarge(
                f"The blob is larger than {limit} bytes ({SETTING}).",
                hint="Send a smaller file, or ask an operator to raise the limit.",
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
            f"The {found.size} bytes received have the digest sha256:{found.sha256}: expected {digest}.",
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


def _check_length(size: int, length: int | None) -> None:
    if length is not None and size != length:
        raise UploadInvalid(f"The chunk has {size} bytes: expected the {length} of its Content-Range.")


def _received(chunks: Chunks, digest: Digest) -> AbstractContextManager[Arrival]:
    return ingest.receive(limited(chunks), with_sha512=digest.algorithm == "sha512")


def _joined(
    staged: list[UploadChunk], authorise: Callable[[], None], digest: Digest
) -> AbstractContextManager[Arrival]:
    """A single chunk with the digest is stored as it is; others are read again in order."""
    one, with_sha512 = staged[0], digest.algorithm == "sha512"
    if len(staged) == 1 and (one.sha512 or not with_sha512):
        return nullcontext(
            ingest.staged(one.staging_key, Fingerprint(one.sha256, one.sha512, one.size), is_hashed=True)
        )
    whole = chain.from_iterable(ingest.read_staged(chunk.staging_key) for chunk in staged)
    return ingest.receive(authorised_to_the_end(whole, authorise), with_sha512=with_sha512)


def _end(session: UploadSession) -> None:
    """Raises UploadUnknown if another request ended the session, or appended to it, meanwhile."""
    if session.size:
        session.chunks.all().delete()
    unchanged = UploadSession.objects.filter(pk=session.pk, size=session.size)
    # One statement instead of three: nothing but its chunks refers to a session, and one of size 0 has none.
    if not unchanged._raw_delete(using=unchanged.db):  # noqa: SLF001
        raise chunked.unknown()


def _discard(staged: list[UploadChunk]) -> None:
    for chunk in staged:
        store.discard_staged(chunk.staging_key)
