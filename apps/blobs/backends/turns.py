"""Create an object only once where storage itself cannot: writers take turns.

A writer leaves a mark and then lists the marks for the same object. If it is alone and the object does not exist, it
writes the object and removes its mark; otherwise it removes its mark and tries again. Of two writers at least the later
one sees the other's mark, since it lists after it has left its own. So storage must list what was written before.
"""

import hashlib
import random
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from apps.blobs.backends import STAGING, Backend, StorageUnavailable

ROUNDS = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 4.0  # seconds; it doubles from round to round
# An older mark belongs to a writer that died: no request lasts as long, with all its repetitions.
STALE = timedelta(minutes=10)
# A writer that slept for longer between its mark and its write looks again.
LONGEST_LOOK = 60.0


def create(backend: Backend, key: str, write: Callable[[], None]) -> bool:
    """Call `write`, which creates the object, unless the object exists; return False if it does."""
    # In staging, where the sweep removes the marks that nobody meets again.
    folder = f"{STAGING}/turns/{hashlib.sha256(key.encode()).hexdigest()}"
    for round_ in range(ROUNDS):
        if backend.size(key) is not None:
            return False
        mark = f"{folder}/{uuid.uuid4().hex}"
        began = time.monotonic()
        backend.write(mark, [b""])
        if _is_alone(backend, folder, mark) and backend.size(key) is None and time.monotonic() - began < LONGEST_LOOK:
            # If the write fails, the mark stays until it is stale: storage may still carry the write out.
            write()
            backend.delete(mark)
            return True
        backend.delete(mark)
        time.sleep(random.uniform(0, min(FIRST_PAUSE * 2**round_, LONGEST_PAUSE)))  # noqa: S311  # no secret
    raise StorageUnavailable("Another process writes the same object to storage, or has died while it did.")


def _is_alone(backend: Backend, folder: str, mark: str) -> bool:
    marks = set(backend.older(folder, datetime.max.replace(tzinfo=UTC)))
    if marks == {mark}:
        return True
    stale = set(backend.older(folder, timezone.now() - STALE)) - {mark}
    for other in stale:
        backend.delete(other)
    return marks - stale == {mark}
