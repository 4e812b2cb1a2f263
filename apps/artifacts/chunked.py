"""Uploads in chunks: who may send the next one, and what has come.

For every row with the columns of `models.ChunkedUpload`: blobs pushed over OCI, and the uploads of releases. No lock
and no transaction is open while bytes come in: a request takes the upload's lease, and only its holder adds a chunk.
"""

import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.artifacts.errors import OutOfOrder, UploadUnknown
from apps.artifacts.models import ChunkedUpload
from apps.jobs import database_availability
from apps.lib.errors import Unavailable

Chunks = Iterable[bytes]
_TRIES = 5


class Busy(Unavailable):
    """Another request is sending this chunk. It continues, or its web process died: then its lease runs out."""

    def __init__(self, left: timedelta) -> None:
        super().__init__(
            "Another chunk of this upload is being received, or was interrupted.",
            hint="Send this one again in a minute.",
            retry_after=max(1, ceil(left.total_seconds())),
        )


def unknown() -> UploadUnknown:
    return UploadUnknown("You have no such upload: it was finished, cancelled or has expired.")


def take_lease(upload: ChunkedUpload, start: int | None) -> uuid.UUID:
    """Let this request alone add chunks. Raises OutOfOrder unless they begin at `start`, Busy, and UploadUnknown."""
    lease, wanted = uuid.uuid4(), upload.size if start is None else start
    rows = _rows(upload).filter(pk=upload.pk)
    for _ in range(_TRIES):
        now = timezone.now()
        free = rows.filter(Q(lease=None) | Q(lease_until__lt=now), size=wanted)
        if free.update(lease=lease, lease_until=now + upload.LEASE):
            upload.size = wanted
            return lease
        upload.size, until = _standing_of(rows)
        if start in (None, upload.size) and until is not None and until > now:
            raise Busy(until - now)
        if upload.size != wanted:
            raise OutOfOrder(upload.size)
        # Nothing is in the way any more: the other request gave the lease back between the two queries.
    raise Busy(timedelta(seconds=1))


def renewing(upload: ChunkedUpload, lease: uuid.UUID, chunks: Chunks) -> Iterator[bytes]:
    """Renew the lease while bytes flow, so that only a request whose process died loses it.

    It survives a short outage of the database: `take` checks the lease at the end.
    """

    def renew() -> None:
        if not _leased(upload, lease).update(lease_until=timezone.now() + upload.LEASE):
            raise unknown()

    renewed = time.monotonic()
    for chunk in chunks:
        if time.monotonic() - renewed > upload.LEASE.total_seconds() / 4:
            renewed = time.monotonic()
            database_availability.try_once(renew)
        yield chunk


def give_back(upload: ChunkedUpload, lease: uuid.UUID) -> None:
    """If the database stays away, the lease runs out."""
    database_availability.run_when_back(
        lambda: _leased(upload, lease).update(lease=None, lease_until=None), seconds=upload.LEASE.total_seconds()
    )


def take(upload: ChunkedUpload, lease: uuid.UUID, size: int, *, keeps_lease: bool = False, **changes: Any) -> None:
    """Record so many more bytes, in the caller's transaction.

    Raises UploadUnknown if the upload ended, or its lease was lost, while the bytes came in.
    """
    until = {"lease_until": timezone.now() + upload.LEASE} if keeps_lease else {"lease": None, "lease_until": None}
    if not _leased(upload, lease).update(size=upload.size + size, **until, **changes):
        raise unknown()


def _standing_of(rows: QuerySet[ChunkedUpload]) -> tuple[int, datetime | None]:
    """Return the size so far, and until when another request has the lease."""
    found = rows.values_list("size", "lease_until").first()
    if found is None:
        raise unknown()
    return found


def _rows(upload: ChunkedUpload) -> QuerySet[ChunkedUpload]:
    return type(upload)._default_manager.all()  # noqa: SLF001  # Django's public name for it


def _leased(upload: ChunkedUpload, lease: uuid.UUID) -> QuerySet[ChunkedUpload]:
    return _rows(upload).filter(pk=upload.pk, lease=lease)
