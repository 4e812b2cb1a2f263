"""Objects under `sha256/` without a row, for example after an older database was restored.

A row is written before its bytes (`store.store_staged`), so an orphan is never an upload in progress.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice

from django.db import transaction

from apps.blobs import backends, store
from apps.blobs.models import Blob, State

BATCH_SIZE = 500
_DIGITS = "0123456789abcdef"
# Ignore anything else that somebody put there.
_BLOB = re.compile(r"sha256/([0-9a-f]{2})/(\1[0-9a-f]{62})")


def batches_without_row(*, now: datetime) -> Iterator[tuple[int, list[str]]]:
    """Go through storage; yield for each batch its number of objects and the digests without a row."""
    # Each day starts elsewhere, so that what one run has no time for has its turn on another day.
    first = now.toordinal() * 7 % len(_DIGITS)
    backend, before = backends.current(), now - store.STAGING_LIFETIME
    keys = chain.from_iterable(backend.older(f"sha256/{digit}", before) for digit in _DIGITS[first:] + _DIGITS[:first])
    digests = (found[2] for key in keys if (found := _BLOB.fullmatch(key)))
    while batch := list(islice(digests, BATCH_SIZE)):
        yield len(batch), _without_row(batch)


def _without_row(batch: list[str]) -> list[str]:
    known = set(Blob.objects.filter(digest__in=batch).values_list("digest", flat=True))
    # Removal deletes the bytes, then the row, so a blob may have been listed before it and looked up after.
    return [
        digest for digest in batch if digest not in known and store.size_of(digest) is not None and not _has_row(digest)
    ]


def _has_row(digest: str) -> bool:
    return Blob.objects.filter(digest=digest).exists()


def remove(digest: str) -> bool:
    """Delete an orphan's bytes; return False if an upload has claimed them meanwhile.

    An upload of the same bytes could create the row, find the object in place, rely on it, and lose it. So the orphan
    gets a row first, in the state DELETING, and only one side can create the row of a digest. If the upload was first,
    its row is found here and nothing is touched. If this was first, the upload reads DELETING and is told to try again,
    while `store.remove` deletes the bytes and the row, or keeps them as an ordinary blob if they are referenced.

    If this process dies half-way, the row stays: uploads wait, and the hourly garbage collection finishes the removal.
    """
    size = store.size_of(digest)
    if size is None:
        return True
    with transaction.atomic(durable=True):
        _, is_mine = Blob.objects.get_or_create(digest=digest, defaults={"size": size, "state": State.DELETING})
    return is_mine and store.remove(digest)
