"""Storage: bytes are staged under a key while they come in, then stored under their sha256 (D3).

`staging/<key>` is not accepted yet, `sha256/ab/<digest>` is a blob, and any other key (the ledger's) is written once.
Call nothing here inside a database transaction: storage may be slow.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.blobs import backends, ingest, references
from apps.blobs.backends import STAGING, STEP, BadKey, Damaged, Missing, StorageUnavailable, UploadLink
from apps.blobs.care import integrity
from apps.blobs.care.integrity import DamagedInStorage
from apps.blobs.care.verified_files import FOLDER, LIFETIME, verified_files
from apps.blobs.models import Blob, State
from apps.lib.formats.fingerprints import Fingerprint, Fingerprints
from apps.lib.process import outside

# Callers know one room for bytes: these are defined below it.
__all__ = ["STEP", "BadKey", "Damaged", "DamagedInStorage", "Missing", "StorageUnavailable", "UploadLink"]

STAGING_LIFETIME = timedelta(hours=24)
# A slow line needs a while for a part.
UPLOAD_LINK_LIFETIME = timedelta(minutes=15)
# Longer than storage takes to delete one object, or to give up.
REMOVAL = timedelta(minutes=2)
# The staging keys of bytes that wait for a person, however long: `releases` fills it in.
staging_in_use: Callable[[], Iterable[str]] = tuple
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Staged:
    digest: str  # sha256, 64 lower-case hex digits
    size: int  # bytes
    sha512: str = ""  # known for bytes that came in a single chunk


def stage(key: str, chunks: Iterable[bytes]) -> Staged:
    """Stream to staging, durable on return. What `chunks` raises passes through, and nothing is stored."""
    outside.give_back()  # slow senders would soon have all connections
    prints = Fingerprints(with_sha512=False)
    backend = backends.current()
    backend.write(_staged(key), prints.over(chunks))
    taken = prints.taken
    if (identity := backend.identity(_staged(key))) is not None:
        verified_files.add_staged(taken.sha256, identity)
    return Staged(taken.sha256, taken.size, taken.sha512)


def open_staged(key: str) -> BinaryIO:
    """Return a real file at position 0; the caller closes it. Raises Missing."""
    file = backends.current().open(_staged(key))
    if file is None:
        raise Missing("The uploaded bytes are no longer in storage.")
    return file


def open_blob(digest: str) -> BinaryIO:
    """Like `open_staged`, for a blob. Raises DamagedInStorage for known damage; hashes nothing."""
    require_sound(digest)
    file = backends.current().open(_content(digest))
    if file is None:
        raise Missing("The archive is not in storage.")
    return file


def discard_staged(key: str) -> None:
    backends.current().delete(_staged(key))
    verified_files.settle(key)


def store_staged(key: str, *, digest: str, size: int) -> Blob:
    """Store staged bytes under their digest. Safe to repeat, even after the staged object is gone.

    Raises Damaged if digest or size differ, Missing if the bytes are nowhere, and StorageUnavailable while older bytes
    of the same digest are being removed.
    """
    arrival = ingest.staged(key, Fingerprint(digest, "", size), is_hashed=False)
    # durable: commit the row before the bytes, or a sweep takes them for an orphan.
    with transaction.atomic(durable=True):
        blob = ingest.claim(arrival.fingerprint)
    arrival.store()
    ingest.mark_ready(blob)
    return blob


def require_ready(digest: str, *, size: int) -> None:
    """Raise StorageUnavailable or Damaged unless the blob is stored. The caller has a reference to it."""
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
    instead_of: references.ReferenceCheck | None = None,
    even_pending: bool = False,
) -> bool:
    """Delete a blob's bytes, then its row; return False if it is wanted or referenced and stays. Safe to repeat.

    An upload writes its reference (seen by `is_wanted` or `references`) before it reads the row; a removal writes
    DELETING before it looks for references. So one sees the other: the blob stays, or the upload waits. Raises
    StorageUnavailable while another removal is in progress.

    `instead_of`: the reference check that `is_wanted` replaces, for a room that drops its own reference.
    `even_pending`: also delete a blob that was never stored completely; otherwise it belongs to a new upload.
    """
    backend, target = backends.current(), _content(digest)
    until = timezone.now() + REMOVAL
    with transaction.atomic(durable=True):
        blob = Blob.objects.select_for_update(no_key=True).filter(digest=digest).first()
        if blob is None or (blob.state == State.PENDING and not even_pending):
            return True
        if blob.state == State.DELETING and blob.deleting_until and blob.deleting_until > timezone.now():
            raise StorageUnavailable(f"{blob} is being removed by another process right now.")
        # Readers do not see a DELETING blob, so a referenced one is not marked even briefly.
        if blob.state != State.DELETING and references.is_referenced(digest, besides=instead_of):
            return False
        Blob.objects.filter(pk=blob.pk).update(state=State.DELETING, deleting_until=until)
    before = State.READY if blob.state == State.DELETING else blob.state
    mine = Blob.objects.filter(digest=digest, state=State.DELETING, deleting_until=until)
    try:
        if is_wanted() or references.is_referenced(digest, besides=instead_of):
            mine.update(state=before, deleting_until=None)
            return False
        if timezone.now() >= until:
            raise StorageUnavailable(f"sha256:{digest} took too long to find; nothing is removed.")
        backend.delete(target)
        mine.delete()
    except BaseException:
        mine.update(deleting_until=None)  # the next removal need not wait
        raise
    return True


def has_foreign_key(digest: str) -> bool:
    return references.has_foreign_key(digest)


def read(digest: str, *, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Return the bytes from `start` up to (without) `stop`, in steps of at most 1 MiB. Raises Missing at once.

    A whole blob is hashed on the way: DamagedInStorage at once or instead of the last step. A part is checked only
    against known damage. Web servers call `close` on the result when a client leaves half-way.
    """
    require_sound(digest)
    backend, key = backends.current(), _content(digest)
    if start or stop is not None:
        return backend.read(key, start, stop)
    identity = backend.identity(key)
    return integrity.Verified(digest, backend.read(key, start, stop), identity)


def read_part(digest: str, part: range, *, size: int) -> Iterator[bytes]:
    """Like `read`, for the bytes `part` of a blob of `size`; all of them count as a whole blob."""
    return read(digest) if part == range(size) else read(digest, start=part.start, stop=part.stop)


@dataclass(frozen=True, slots=True)
class File:
    """A stored file on this host: `key` is its place below the storage folder."""

    key: str
    path: Path


def verified_file(digest: str) -> File | None:
    """Return the file if it was hashed within the hour, by this process or one that left a mark, and not written since.

    Such a file may leave without another check: `read` hashes it again once this answers None.
    """
    backend, key = backends.current(), _content(digest)
    path = backend.path(key)
    if path is None or not verified_files.has(digest, backend.identity(key)):
        return None
    return File(key, path)


def path_of(digest: str) -> Path | None:
    """Return where the file of a blob is on this host; None if storage is elsewhere. Raises DamagedInStorage for known
    damage; hashes nothing, and does not look whether the file is there.
    """
    require_sound(digest)
    return backends.current().path(_content(digest))


def is_on_this_host() -> bool:
    """Return whether blobs are files of this host, which a process reads without waiting for another machine."""
    return backends.current().path("sha256") is not None


def is_away() -> bool:
    """Return whether storage has stopped answering, so that every call fails at once."""
    return backends.is_away()


def link_to(digest: str, *, headers: Mapping[str, str]) -> str | None:
    """Return a URL by which anyone may read the blob for STORAGE_REDIRECT_SECONDS; None if Larder sends it itself.

    Nothing hashes these bytes on the way, and the link outlives a quarantine for that time.
    """
    if not settings.STORAGE_REDIRECT_SECONDS:
        return None
    return backends.current().link(_content(digest), seconds=settings.STORAGE_REDIRECT_SECONDS, headers=headers)


def upload_link(key: str, *, size: int) -> UploadLink | None:
    """Return by what request a browser may stage so many bytes under the key; None if it sends them to Larder."""
    if not settings.STORAGE_DIRECT_UPLOADS:
        return None
    seconds = int(UPLOAD_LINK_LIFETIME.total_seconds())
    return backends.current().upload_link(_staged(key), size=size, seconds=seconds)


def upload_origin() -> str:
    """Return where browsers send such bytes; empty if they send them to Larder."""
    try:
        return backends.current().upload_origin() if settings.STORAGE_DIRECT_UPLOADS else ""
    except StorageUnavailable:  # there are no credentials right now
        return ""


def staged_size(key: str) -> int | None:
    return backends.current().size(_staged(key))


def creates_by() -> str:
    """Return how storage creates an object only once, after asking it. Raises StorageUnavailable."""
    return backends.current().creates_by()


def read_unverified(digest: str) -> Iterator[bytes]:
    """Return all bytes without a check, for callers that check them."""
    return backends.current().read(_content(digest), 0, None)


def require_sound(digest: str) -> None:
    """Raise DamagedInStorage for known damage, without asking storage or the database."""
    integrity.require_sound(digest)


def size_of(digest: str) -> int | None:
    """Return the size in storage, without the database: downloads continue while it is away (D6)."""
    return backends.current().size(_content(digest))


def put_once(key: str, data: bytes) -> bool:
    """Write a small object that never changes; return False if it exists.

    An earlier try of the same caller may have written it: compare with `get` before calling it a conflict.
    """
    return backends.current().put_once(_own(key), data)


def get(key: str) -> bytes | None:
    try:
        return b"".join(backends.current().read(_own(key), 0, None))
    except Missing:
        return None


def raise_number(name: str, number: int) -> None:
    """Write a number that only grows, as an object that is created once, so writers need no lock."""
    put_once(f"{name}/{number:0{_NUMBER_DIGITS}d}", timezone.now().isoformat().encode())


def highest_number(name: str) -> int:
    """Return the highest number ever written, or 0, and delete lower ones."""
    shape = re.compile(rf"{re.escape(name)}/\d{{{_NUMBER_DIGITS}}}")
    backend, later = backends.current(), timezone.now() + timedelta(days=1)
    keys = sorted(filter(shape.fullmatch, backend.older(f"{name}/0", later)))
    for key in keys[:-1]:
        backend.delete(key)
    return int(keys[-1].rpartition("/")[2]) if keys else 0


def ready() -> None:
    """Raise StorageUnavailable unless an upload could begin now."""
    backends.current().probe()


def free_bytes() -> int | None:
    """Return how many more bytes fit; None if storage does not tell. Raises StorageUnavailable."""
    return backends.current().free_bytes()


def sweep(*, now: datetime) -> int:
    """Delete files that have been in staging for a day and belong to no upload: none takes that long.

    Return how many objects and unfinished uploads.
    """
    kept = frozenset(_staged(key) for key in staging_in_use())
    if is_on_this_host():
        backends.current().drop_older(FOLDER, now - timedelta(seconds=LIFETIME))
    return backends.current().drop_older(STAGING, now - STAGING_LIFETIME, kept=kept)


def _staged(key: str) -> str:
    return f"{STAGING}/{backends.checked(key)}"


def _content(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise BadKey(f"not a sha256 in lower-case hex: {digest[:80]!r}")
    return f"sha256/{digest[:2]}/{digest}"


def _own(key: str) -> str:
    """Check that the key is outside the two folders with their own rules."""
    if key.split("/", maxsplit=1)[0] in (STAGING, "sha256", FOLDER):
        raise BadKey(f"{key[:80]!r} is a key of the store's own")
    return key
