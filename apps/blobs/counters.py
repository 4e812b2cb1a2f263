"""Numbers in storage that only grow, and survive a restored database as the ledger does.

Each value is an object that is created once, so writers need no lock.
"""

import re
from datetime import timedelta

from django.utils import timezone

from apps.blobs import backends, store

_DIGITS = 12


def raise_to(name: str, number: int) -> None:
    """Write the number. Raises StorageUnavailable."""
    store.put_once(f"{name}/{number:0{_DIGITS}d}", timezone.now().isoformat().encode())


def highest(name: str) -> int:
    """Return the highest number ever written, or 0, and delete lower ones. Raises StorageUnavailable."""
    shape = re.compile(rf"{re.escape(name)}/(\d{{{_DIGITS}}})")
    backend, later = backends.current(), timezone.now() + timedelta(days=1)
    keys = [key for key in backend.older(f"{name}/0", later) if shape.fullmatch(key)]
    if not keys:
        return 0
    last = max(keys)
    for key in keys:
        if key != last:
            backend.delete(key)
    return int(last.rpartition("/")[2])
