"""Objects under `sha256/` that no row knows: of a database that was restored from before they came, or of nobody.

Every row is there before its bytes are (`store.store_staged`), so bytes without a row are not on their way.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, islice

from django.db import transaction

from apps.blobs import backends, store
from apps.blobs.models import Blob, State

AT_ONCE = 500
_DIGITS = "0123456789abcdef"
# What somebody else has laid beside the blobs is not ours to judge.
_BLOB = re.compile(r"sha256/([0-9a-f]{2})/(\1[0-9a-f]{62})")


def look(*, now: datetime) -> Iterator[tuple[int, list[str]]]:
    """Go through storage in batches: how many objects it was, and the digests of those without a row."""
    # Each day begins elsewhere: what does not fit into the time of one run is looked at on another day.
    first = now.toordinal() * 7 % len(_DIGITS)
    backend, before = backends.current(), now - store.STAGING_LIFETIME
    keys = chain.from_iterable(backend.older(f"sha256/{digit}", before) for digit in _DIGITS[first:] + _DIGITS[:first])
    digests = (found[2] for key in keys if (found := _BLOB.fullmatch(key)))
    while batch := list(islice(digests, AT_ONCE)):
        yield len(batch), _without_row(batch)


def _without_row(batch: list[str]) -> list[str]:
    known = set(Blob.objects.filter(digest__in=batch).values_list("digest", flat=True))
    # Whoever removes a blob deletes its bytes, then its row: it may have been listed before, and looked for after.
    return [one for one in batch if one not in known and store.size_of(one) is not None and not _has_row(one)]


def _has_row(digest: str) -> bool:
    return Blob.objects.filter(digest=digest).exists()


def remove(digest: str) -> bool:
    """Delete an orphan's bytes; False where somebody has come for them, and they stay.

    Nobody may delete bytes just because they saw no row: who stores the same bytes would make the row, find the
    object in its place, keep it, and lose it. So the orphan gets a row first, which says LEAVING. One of two can make
    the row of a digest. Where it is the storing side, its row is found here, and nothing is touched. Where it is this
    side, whoever stores reads LEAVING and is told to come again, and `store.remove` takes the bytes and then the row;
    it asks the holders as well, and what one of them needs becomes an ordinary blob.

    Should this die half-way, the row stays as that of any removal does: storing waits, and the hourly collection of
    what nobody needs ends it after its grace.
    """
    size = store.size_of(digest)
    if size is None:
        return True
    with transaction.atomic(durable=True):
        _, is_mine = Blob.objects.get_or_create(digest=digest, defaults={"size": size, "state": State.LEAVING})
    return is_mine and store.remove(digest)
