"""Stored bytes that are not what their digest says are served to nobody.

What a check finds is kept in the blob's row (`scrubbing`). Each web process remembers those findings, so that a
download asks nobody for them, also while the database is away (D6); a thread renews them. What leaves whole is hashed
on its way: where the digest is another, the end is held back, and the same thread writes the finding down (D15).
"""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime
from multiprocessing.util import Finalize
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Q
from django.utils import timezone

from apps.blobs.backends import STEP
from apps.blobs.models import Blob, Problem, State
from apps.blobs.renewing import EVERY, Renewed
from apps.lib.errors import Unavailable
from apps.lib.write_behind import NotWritten, WriteBehind

# More findings than this are one finding: storage is lost.
MAX_FINDINGS = 50_000

log = structlog.get_logger("larder.blobs")


class DamagedInStorage(Unavailable):
    """Published bytes that cannot be served until an operator has put a good copy in their place."""

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"sha256:{digest} is damaged in storage and not served.",
            mend="Ask those who operate this registry to restore it from a backup.",
        )


class KnownProblems(Renewed[Mapping[str, str]]):
    """The findings by digest, as this process last knew them."""

    def __init__(self) -> None:
        super().__init__("damaged-blobs", {})
        self._unwritten: WriteBehind[str, datetime] = WriteBehind(
            self.name, write=_write, merge=max, every=EVERY, most=MAX_FINDINGS, rest=connections.close_all
        )
        self.flush = self._unwritten.flush

    def of(self, digest: str) -> str:
        """`damaged`, `missing` or nothing."""
        return self.value.get(digest, Problem.NONE)

    def note_damage(self, digest: str) -> None:
        """Serve it no more from now on, and have its row say so soon."""
        with self._lock:
            self.value = {**self.value, digest: Problem.DAMAGED.value}
        self._unwritten.add(digest, timezone.now())

    def read(self) -> Mapping[str, str]:
        self.flush()
        rows = Blob.objects.filter(state=State.READY).exclude(problem=Problem.NONE)
        return dict(rows.order_by("problem", "pk").values_list("digest", "problem")[:MAX_FINDINGS])

    def start(self) -> None:
        super().start()
        Finalize(None, self.flush, exitpriority=10)


def _write(found: Mapping[str, datetime]) -> int:
    """Unless the blob was read again since, by a check of storage."""
    try:
        return sum(
            Blob.objects.filter(Q(checked_at=None) | Q(checked_at__lt=at), digest=digest, state=State.READY).update(
                problem=Problem.DAMAGED, checked_at=at
            )
            for digest, at in found.items()
        )
    except (DatabaseError, InterfaceError) as error:
        raise NotWritten(str(error)) from error


known = KnownProblems()
start = known.start


def require_sound(digest: str) -> None:
    """Raises DamagedInStorage for what is known to be damaged. What is missing shows itself, and may be back."""
    if known.of(digest) == Problem.DAMAGED:
        raise DamagedInStorage(digest)


class Verified(Iterator[bytes]):
    """The steps of a whole blob. The last one is handed out once the digest of all is right; else DamagedInStorage.

    What is not larger than one step is read and judged when this is made: that answer can still be a clean 503. Later
    the answer has begun, and the error must break the connection before the length that was promised.
    """

    def __init__(self, digest: str, steps: Any) -> None:
        self._digest, self._steps = digest, steps
        self._seen = hashlib.sha256()
        self._held = b""
        self._is_over = False
        while not self._is_over and len(self._held) < STEP:
            self._held += self._take()

    def __next__(self) -> bytes:
        if self._is_over and not self._held:
            raise StopIteration
        ready, self._held = self._held, b"" if self._is_over else self._take()
        return ready

    def _take(self) -> bytes:
        step: bytes = next(self._steps, b"")
        if step:
            self._seen.update(step)
            return step
        self._is_over = True
        if self._seen.hexdigest() != self._digest:
            self.close()
            log.error("blob_damaged", digest=self._digest, found=self._seen.hexdigest())
            known.note_damage(self._digest)
            raise DamagedInStorage(self._digest)
        return b""

    def close(self) -> None:
        self._is_over, self._held = True, b""
        self._steps.close()
