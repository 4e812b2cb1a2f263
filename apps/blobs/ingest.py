"""Blobs that are hashed while they come in and kept at once, without a second reading; known by either algorithm.

Three steps, so that no transaction is open while storage works: `claim` in the caller's transaction, which also says
who refers to the blob; then `Arrival.keep`; then `settle`, again in a transaction of the caller's. A blob may be read
once it is settled.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from apps.blobs import backends
from apps.blobs.backends import STAGING, Damaged, StorageUnavailable
from apps.blobs.models import Blob, State
from apps.lib.formats.fingerprints import Fingerprint, Fingerprints


@dataclass(frozen=True, slots=True)
class Arrival:
    """Bytes that are here, durable, and have no name yet."""

    fingerprint: Fingerprint
    _place: Callable[[str, str], bool]

    def keep(self) -> None:
        """Give them their name, where nobody has come first. Raises Missing, Damaged."""
        backend, digest = backends.current(), self.fingerprint.sha256
        target = f"sha256/{digest[:2]}/{digest}"
        found = backend.size(target)
        if found is None:
            self._place(target, digest)
            found = backend.size(target)
        if found != self.fingerprint.size:
            raise Damaged(f"sha256:{digest} has {found} bytes in storage: expected {self.fingerprint.size}.")


@contextmanager
def receive(chunks: Iterable[bytes]) -> Iterator[Arrival]:
    """Take the bytes in. Whatever `chunks` raises passes through; what is not kept by the end is gone."""
    backends.wait_without_database()
    prints = Fingerprints()
    with backends.current().arriving(f"{STAGING}/{new_key()}", prints.over(chunks)) as place:
        yield Arrival(prints.taken, place)


def stage(key: str, chunks: Iterable[bytes]) -> Fingerprint:
    """As `store.stage`, with both digests."""
    backends.wait_without_database()
    prints = Fingerprints()
    backends.current().write(f"{STAGING}/{backends.checked(key)}", prints.over(chunks))
    return prints.taken


def staged(key: str, fingerprint: Fingerprint) -> Arrival:
    """What `stage` brought, to be kept as it is. It stays in staging, too, until `store.discard_staged`."""
    source = f"{STAGING}/{backends.checked(key)}"
    return Arrival(fingerprint, lambda target, digest: backends.current().adopt(source, target, digest))


def read_staged(key: str) -> Iterator[bytes]:
    """Raises Missing at the first step."""
    yield from backends.current().read(f"{STAGING}/{backends.checked(key)}", 0, None)


def new_key() -> str:
    """In no folder of its own: each new folder costs a wait for the disk."""
    return f"oci-{uuid.uuid4().hex}"


def claim(fingerprint: Fingerprint) -> Blob:
    """The blob's row, locked until the caller's transaction ends; only there whatever refers to it may be written.

    Locked, because `store.remove` looks for what refers to a blob after it has marked it: of two who meet, it comes
    after this transaction and finds the reference, or this finds the mark and raises StorageUnavailable.
    """
    row = Blob(digest=fingerprint.sha256, sha512=fingerprint.sha512, size=fingerprint.size)
    Blob.objects.bulk_create([row], ignore_conflicts=True)
    blob = Blob.objects.select_for_update(no_key=True).filter(digest=fingerprint.sha256).first()
    if blob is None or blob.state == State.LEAVING:
        raise StorageUnavailable(f"sha256:{fingerprint.sha256} is just being removed: it can be stored again soon.")
    if blob.size != fingerprint.size:
        raise Damaged(f"{blob} has {blob.size} bytes by its row: found {fingerprint.size}.")
    if blob.sha512 is None:
        Blob.objects.filter(pk=blob.pk).update(sha512=fingerprint.sha512)
    return blob


def lock_ready(digest: str) -> Blob | None:
    """The row of a stored blob, locked as by `claim`; None where it is not stored."""
    return Blob.objects.select_for_update(no_key=True).filter(digest=digest, state=State.READY).first()


def settle(blob: Blob) -> None:
    """It is stored now. Costs nothing where it was before."""
    if blob.state == State.CLAIMED:
        Blob.objects.filter(pk=blob.pk, state=State.CLAIMED).update(state=State.READY)
