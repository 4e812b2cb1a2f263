"""Never serve stored bytes that do not match their digest.

`scrub` records its findings in the blob's row. Each web process keeps a list of them in memory, so that downloads obey
it without the database (D6); a thread renews it. A blob that is served whole is hashed on the way: if the digest
differs, the last step is not sent, and the same thread records the finding (D15).
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

from apps.blobs.backends import STEP, Identity
from apps.blobs.care.verified_files import verified_files
from apps.blobs.models import Blob, Problem, State
from apps.blobs.renewing import EVERY, Renewed
from apps.lib.errors import Unavailable
from apps.lib.process.write_behind import NotWritten, WriteBehind

# With more findings than this, storage is lost.
MAX_FINDINGS = 50_000

log = structlog.get_logger("larder.blobs")


class DamagedInStorage(Unavailable):
    """Published bytes that cannot be served until an operator restores a good copy."""

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"sha256:{digest} is damaged in storage and not served.",
            hint="Ask an operator to restore it from a backup.",
        )


class KnownProblems(Renewed[Mapping[str, str]]):
    """The problem of each damaged or missing digest, as last read."""

    def __init__(self) -> None:
        super().__init__("damaged-blobs", {})
        self._unwritten: WriteBehind[str, datetime] = WriteBehind(
            self.name, write=_write, merge=max, every=EVERY, most=MAX_FINDINGS, rest=connections.close_all
        )
        self.flush = self._unwritten.flush

    def problem_of(self, digest: str) -> str:
        """Return `damaged`, `missing` or the empty string."""
        return self.value.get(digest, Problem.NONE)

    def record_damage(self, digest: str) -> None:
        """Stop serving the digest at once; its row follows within seconds."""
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
    """Record damage unless a scrub has read the blob since, or its bytes were replaced."""
    try:
        return sum(
            Blob.objects.filter(
                Q(checked_at=None) | Q(checked_at__lt=at), digest=digest, state=State.READY, created_at__lt=at
            ).update(problem=Problem.DAMAGED, checked_at=at)
            for digest, at in found.items()
        )
    except (DatabaseError, InterfaceError) as error:
        raise NotWritten(str(error)) from error


known = KnownProblems()
start = known.start


def require_sound(digest: str) -> None:
    """Raises DamagedInStorage for a digest known to be damaged. A missing one fails when it is read, or is back."""
    if known.problem_of(digest) == Problem.DAMAGED:
        raise DamagedInStorage(digest)


class Verified(Iterator[bytes]):
    """The steps of a whole blob; the last one only after the digest matched, else DamagedInStorage.

    A blob of up to one step is verified on construction, so that the answer can be a clean 503. After that the answer
    has begun, and the error breaks the connection before the promised length.
    """

    def __init__(self, digest: str, steps: Any, identity: Identity | None = None) -> None:
        self._digest, self._steps, self._identity = digest, steps, identity
        self._seen = hashlib.sha256()
        self._ready = b""
        self._is_over = False
        while not self._is_over and len(self._ready) < STEP:
            self._ready += self._take()

    def __next__(self) -> bytes:
        if self._is_over and not self._ready:
            raise StopIteration
        ready, self._ready = self._ready, b"" if self._is_over else self._take()
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
            known.record_damage(self._digest)
            raise DamagedInStorage(self._digest)
        if self._identity is not None:
            verified_files.add(self._digest, self._identity)
        return b""

    def close(self) -> None:
        self._is_over, self._ready = True, b""
        self._steps.close()
