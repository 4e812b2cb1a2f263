"""Bytes in storage: staged under a key while they come in, then kept for ever under their sha256 (D3).

`staging/<key>` is what nobody has accepted yet, `sha256/ab/<digest>` is a blob, and any other key (the ledger's) is
written once. Nothing here may run inside a database transaction: storage may take its time.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import BinaryIO

from django.db import transaction
from django.utils import timezone

from apps.blobs import backends, integrity, references
from apps.blobs.backends import STAGING, STEP, BadKey, Damaged, Missing, StorageUnavailable
from apps.blobs.integrity import DamagedInStorage
from apps.blobs.models import Blob, State

__all__ = [
    "STEP",
    "BadKey",
    "Damaged",
    "DamagedInStorage",
    "Missing",
    "Staged",
    "StorageUnavailable",
    "SweepReport",
    "discard_staged",
    "get",
    "is_referred_to",
    "open_blob",
    "open_staged",
    "put_once",
    "read",
    "read_part",
    "read_unverified",
    "ready",
    "remove",
    "require_ready",
    "require_sound",
    "size_of",
    "stage",
    "store_staged",
    "sweep",
]

STAGING_LIFETIME = timedelta(hours=24)
# Longer than storage takes to delete one object, or to give up.
REMOVAL = timedelta(minutes=2)
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Staged:
    digest: str  # sha256, 64 lower-case hex digits
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class SweepReport:
    staged: int  # objects and unfinished uploads that were deleted


def stage(key: str, chunks: Iterable[bytes]) -> Staged:
    """Stream to staging, durable on return. Whatever `chunks` raises passes through, and nothing of it stays."""
    backends.wait_without_database()
    seen = hashlib.sha256()
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for chunk in chunks:
            seen.update(chunk)
            size += len(chunk)
            yield chunk

    backends.current().write(_staged(key), counted())
    return Staged(digest=seen.hexdigest(), size=size)


def open_staged(key: str) -> BinaryIO:
    """Return a real file (it has a descriptor and seeks) at its begin; the caller closes it. Raises Missing."""
    file = backends.current().open(_staged(key))
    if file is None:
        raise Missing("The uploaded bytes are no longer in storage.")
    return file


def open_blob(digest: str) -> BinaryIO:
    """As `open_staged`, for a blob. Raises DamagedInStorage for what is known to be damaged; it hashes nothing."""
    require_sound(digest)
    file = backends.current().open(_content(digest))
    if file is None:
        raise Missing("The archive is not in storage.")
    return file


def discard_staged(key: str) -> None:
    backends.current().delete(_staged(key))


def store_staged(key: str, *, digest: str, size: int) -> Blob:
    """Keep staged bytes under their digest. Safe to repeat, also when the staged object is gone by then.

    Raises Damaged where the bytes are not `digest` or not `size` long, Missing where they are nowhere, and
    StorageUnavailable while older bytes of the same digest are being removed.
    """
    backend, target = backends.current(), _content(digest)
    # durable: the intent must be committed before the bytes are there, or a sweep takes them for an orphan's.
    with transaction.atomic(durable=True):
        blob, _ = Blob.objects.get_or_create(digest=digest, defaults={"size": size})
    if blob.state == State.LEAVING:
        raise StorageUnavailable(f"sha256:{digest} is just being removed from storage: it can be stored again soon.")
    found = backend.size(target)
    if found is None:
        backend.promote(_staged(key), target, digest)
        found = backend.size(target)
    if not found == size == blob.size:
        raise Damaged(f"sha256:{digest} has {found} bytes in storage: expected {size}, and {blob.size} by its row.")
    if blob.state != State.READY:
        Blob.objects.filter(pk=blob.pk).update(state=State.READY)
        blob.state = State.READY
    return blob


def require_ready(digest: str, *, size: int) -> None:
    """Raises StorageUnavailable or Damaged unless the blob is stored. Whoever asks has a reference to it."""
    blob = Blob.objects.filter(digest=digest).first()
    if blob is None or blob.state != State.READY:
        raise StorageUnavailable(f"sha256:{digest} is not in storage right now.")
    found = size_of(digest)
    if not found == size == blob.size:
        raise Damaged(f"sha256:{digest} has {found} bytes in storage: expected {size}, and {blob.size} by its row.")


def remove(
    digest: str,
    *,
    is_wanted: Callable[[], bool] = lambda: False,
    instead_of: references.Holder | None = None,
    even_claimed: bool = False,
) -> bool:
    """Delete a blob's bytes, then its row; False where it is wanted, or held (`holders`), and stays. Safe to repeat.

    Whoever stores a blob has said so (where `is_wanted` and the holders look) before they read the row here. The row
    says LEAVING before that last look. So of two who meet, one sees the other: the blob stays, or the storing waits.
    One removes it at a time: while another does, this raises StorageUnavailable.

    `instead_of`: the holder for which `is_wanted` speaks, of a room that itself lets go of the bytes. `even_claimed`:
    also what was never stored to its end; without it, it belongs to somebody who has come since.
    """
    backend, target = backends.current(), _content(digest)
    until = timezone.now() + REMOVAL
    with transaction.atomic(durable=True):
        blob = Blob.objects.select_for_update(no_key=True).filter(digest=digest).first()
        if blob is None or (blob.state == State.CLAIMED and not even_claimed):
            return True
        if blob.state == State.LEAVING and blob.leaving_until and blob.leaving_until > timezone.now():
            raise StorageUnavailable(f"{blob} is being removed by another right now.")
        # Readers do not see what is LEAVING: what is held is not marked for the length of a look.
        if blob.state != State.LEAVING and references.is_held(digest, but=instead_of):
            return False
        Blob.objects.filter(pk=blob.pk).update(state=State.LEAVING, leaving_until=until)
    before = State.READY if blob.state == State.LEAVING else blob.state
    leaving = Blob.objects.filter(digest=digest, state=State.LEAVING, leaving_until=until)
    try:
        if is_wanted() or references.is_held(digest, but=instead_of):
            leaving.update(state=before, leaving_until=None)
            return False
        if timezone.now() >= until:
            raise StorageUnavailable(f"sha256:{digest} took too long to look for; nothing is removed.")
        backend.delete(target)
        leaving.delete()
    except BaseException:
        leaving.update(leaving_until=None)  # the next one need not wait
        raise
    return True


def is_referred_to(digest: str) -> bool:
    return references.is_referred_to(digest)


def read(digest: str, *, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Return the bytes from `start` up to (without) `stop`, in steps of at most 1 MiB; Missing before the first.

    Read whole (no `start`, no `stop`) they are hashed: DamagedInStorage here, or instead of the last step. Of a part
    only what is already known tells. What is returned has a `close`, which web servers call when a client leaves
    half-way.
    """
    require_sound(digest)
    steps = backends.current().read(_content(digest), start, stop)
    return integrity.Verified(digest, steps) if start == 0 and stop is None else steps


def read_part(digest: str, part: range, *, size: int) -> Iterator[bytes]:
    """As `read`, for an answer that promises `part` of `size` bytes: all of them are read whole."""
    return read(digest) if part == range(size) else read(digest, start=part.start, stop=part.stop)


def read_unverified(digest: str) -> Iterator[bytes]:
    """All bytes as they are, for those who judge them."""
    return backends.current().read(_content(digest), 0, None)


def require_sound(digest: str) -> None:
    """Raise DamagedInStorage for what is known to be damaged. It asks neither storage nor the database."""
    integrity.require_sound(digest)


def size_of(digest: str) -> int | None:
    """Ask storage, not the database: downloads go on while that is away (D6)."""
    return backends.current().size(_content(digest))


def put_once(key: str, data: bytes) -> bool:
    """Write a small object that must never change; False when it is there.

    A False can mean that an earlier try of the same caller came through: compare with `get` before calling it a
    conflict.
    """
    return backends.current().put_once(_own(key), data)


def get(key: str) -> bytes | None:
    try:
        return b"".join(backends.current().read(_own(key), 0, None))
    except Missing:
        return None


def ready() -> None:
    """Raise StorageUnavailable unless an upload could begin now."""
    backends.current().probe()


def free_bytes() -> int | None:
    """How much more fits into storage; None where it cannot be told. Raises StorageUnavailable."""
    return backends.current().free_bytes()


def sweep(*, now: datetime) -> SweepReport:
    """Delete what has lain in staging for a day: no upload lasts that long, so whoever wrote it has gone."""
    return SweepReport(staged=backends.current().drop_older(STAGING, now - STAGING_LIFETIME))


def _staged(key: str) -> str:
    return f"{STAGING}/{backends.checked(key)}"


def _content(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise BadKey(f"not a sha256 in lower-case hex: {digest[:80]!r}")
    return f"sha256/{digest[:2]}/{digest}"


def _own(key: str) -> str:
    """A key of the caller's choice, outside the two folders that have rules of their own."""
    if key.split("/", maxsplit=1)[0] in (STAGING, "sha256"):
        raise BadKey(f"{key[:80]!r} is a key of the store's own")
    return key
