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
from django.db.models import ForeignKey

from apps.blobs import backends
from apps.blobs.backends import STAGING, STEP, BadKey, Damaged, Missing, StorageUnavailable
from apps.blobs.models import Blob, State

__all__ = [
    "STEP",
    "BadKey",
    "Damaged",
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
    "ready",
    "remove",
    "size_of",
    "stage",
    "store_staged",
    "sweep",
]

STAGING_LIFETIME = timedelta(hours=24)
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
    """As `open_staged`, for a blob."""
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


def remove(digest: str, *, is_wanted: Callable[[], bool]) -> bool:
    """Delete a blob's bytes, then its row; False where it is wanted and stays. Safe to repeat.

    Whoever stores a blob has said so (where `is_wanted` looks) before they read the row here. The row says LEAVING
    before `is_wanted` looks. So of two who meet, one sees the other: the blob stays, or the storing waits.
    """
    backend, target = backends.current(), _content(digest)
    leaving = Blob.objects.filter(digest=digest, state=State.LEAVING)
    with transaction.atomic(durable=True):
        found = Blob.objects.filter(digest=digest, state__in=[State.READY, State.LEAVING]).update(state=State.LEAVING)
    if not found:
        return True
    if is_wanted() or is_referred_to(digest):
        leaving.update(state=State.READY)
        return False
    backend.delete(target)
    leaving.delete()
    return True


def is_referred_to(digest: str) -> bool:
    """Whether a row of any room refers to the blob by its key: repositories do."""
    relations = Blob._meta.related_objects  # noqa: SLF001  # Django documents it, and the manager below
    holders = (
        relation.related_model._base_manager.filter(**{f"{relation.field.name}__digest": digest})  # noqa: SLF001
        for relation in relations
        if isinstance(relation.field, ForeignKey)
    )
    return any(holder.exists() for holder in holders)


def read(digest: str, *, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Return the bytes from `start` up to (without) `stop`, in steps of at most 1 MiB; Missing before the first.

    What is returned has a `close`, which web servers call when a client leaves half-way.
    """
    return backends.current().read(_content(digest), start, stop)


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
