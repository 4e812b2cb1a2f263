"""The one way by which bytes become a blob: hashed while they come in, or staged before and hashed again.

Three steps, so that no transaction is open while storage works: `claim` in the caller's transaction, which also writes
the reference to the blob; then `Arrival.store`; then `mark_ready` in another transaction. A blob may be read from then
on.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from apps.blobs import backends
from apps.blobs.backends import STAGING, Damaged, StorageUnavailable
from apps.blobs.care.verified_files import verified_files
from apps.blobs.models import Blob, State
from apps.lib.formats.fingerprints import Fingerprint, Fingerprints
from apps.lib.process import outside


@dataclass(frozen=True, slots=True)
class Arrival:
    """Bytes that are durable and not yet at their content address."""

    fingerprint: Fingerprint
    _commit: Callable[[str, str], bool]

    def store(self) -> None:
        """Move the bytes to their content address unless they are there already. Raises Missing, Damaged."""
        backend, digest = backends.current(), self.fingerprint.sha256
        target = f"sha256/{digest[:2]}/{digest}"
        found = backend.size(target)
        if found is None:
            self._commit(target, digest)
            found = backends.shown(lambda: backend.size(target))
            if found is None:
                raise StorageUnavailable(f"Storage does not show sha256:{digest}, which was just stored.")
        if found != self.fingerprint.size:
            raise Damaged(f"sha256:{digest} has {found} bytes in storage: expected {self.fingerprint.size}.")


@contextmanager
def receive(chunks: Iterable[bytes], *, with_sha512: bool = False) -> Iterator[Arrival]:
    """Store the chunks durably; they are deleted at the end of the block unless `store` was called.

    What `chunks` raises passes through. `with_sha512`: see `Fingerprints`. This process hashed what it stored, so it is
    sent without a second look.
    """
    outside.give_back()  # slow senders would soon have all connections
    prints, backend = Fingerprints(with_sha512=with_sha512), backends.current()
    created: list[str] = []

    def store(target: str, digest: str) -> bool:
        if is_new := commit(target, digest):
            created.append(target)
        return is_new

    with backend.receiving(f"{STAGING}/{new_key()}", prints.over(chunks)) as commit:
        yield Arrival(prints.taken, store)
    for target in created:  # after the block: its temporary name is gone, which was part of its identity
        if (identity := backend.identity(target)) is not None:
            verified_files.add(prints.taken.sha256, identity)


def staged(key: str, fingerprint: Fingerprint, *, is_hashed: bool) -> Arrival:
    """Return staged bytes as an Arrival. They also stay in staging until `store.discard_staged`.

    `is_hashed`: this process hashed them while they came in. Otherwise they are hashed before they are stored, unless
    a process of this host hashed the file within the hour, and it was not written since.
    """
    source = f"{STAGING}/{backends.checked(key)}"

    def commit(target: str, digest: str) -> bool:
        backend = backends.current()
        seen = None if is_hashed else backend.identity(source)
        seen = seen if verified_files.has_staged(digest, seen) else None
        if is_new := backend.commit(source, target, digest, is_hashed=is_hashed, seen=seen):
            verified_files.expect(key, target, digest)
        return is_new

    return Arrival(fingerprint, commit)


def read_staged(key: str) -> Iterator[bytes]:
    """Raises Missing at the first step."""
    yield from backends.current().read(f"{STAGING}/{backends.checked(key)}", 0, None)


def new_key() -> str:
    """Return a staging key without a folder: each new folder costs an fsync."""
    return f"oci-{uuid.uuid4().hex}"


def claim(fingerprint: Fingerprint) -> Blob:
    """Return the blob's row, locked until the caller's transaction ends; write references to it only in there.

    `store.remove` marks a blob before it looks for references. So it either comes after this transaction and finds the
    reference, or this finds the mark and raises StorageUnavailable.
    """
    row = Blob(digest=fingerprint.sha256, sha512=fingerprint.sha512 or None, size=fingerprint.size)
    Blob.objects.bulk_create([row], ignore_conflicts=True)
    blob = Blob.objects.select_for_update(no_key=True).filter(digest=fingerprint.sha256).first()
    if blob is None or blob.state == State.DELETING:
        raise StorageUnavailable(f"sha256:{fingerprint.sha256} is being removed: try again soon.")
    if blob.size != fingerprint.size:
        raise Damaged(f"{blob} has {blob.size} bytes according to its row: found {fingerprint.size}.")
    if blob.sha512 is None and fingerprint.sha512:
        Blob.objects.filter(pk=blob.pk).update(sha512=fingerprint.sha512)
    return blob


def lock_ready(digest: str) -> Blob | None:
    """Return the row of a stored blob, locked as by `claim`, or None."""
    return Blob.objects.select_for_update(no_key=True).filter(digest=digest, state=State.READY).first()


def mark_ready(blob: Blob) -> None:
    """Record that the bytes are stored; no query if they were."""
    if blob.state == State.PENDING:
        Blob.objects.filter(pk=blob.pk, state=State.PENDING).update(state=State.READY)
        blob.state = State.READY
