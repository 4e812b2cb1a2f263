"""Shared code of the drivers of object storage: sending in parts, creating only once, spooling, listing.

A driver says how its service puts, reads, lists and deletes an object, and how its errors are mapped.
"""

import base64
import hashlib
import random
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from io import BytesIO
from itertools import chain
from typing import IO, Any, BinaryIO, ClassVar, cast

import structlog
from django.utils import timezone

from apps.blobs.backends import (
    STAGING,
    STEP,
    Backend,
    Damaged,
    Identity,
    Missing,
    Steps,
    StorageUnavailable,
    UploadLink,
    checked,
    disk_errors,
    shown,
)
from apps.lib.process.outside import STORAGE, Circuit

PART = 8 * 1024 * 1024  # bytes of one part of an upload; an upload costs the memory of two
DOWNLOAD_BYTES = 2 * 1024 * 1024  # of one request, where a driver reads in ranges
RACE_ROUNDS = 5
TURN_ROUNDS = 10
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 4.0  # seconds; it doubles from round to round
# An older mark belongs to a writer that died: no request lasts as long, with all its repetitions.
STALE_MARK = timedelta(minutes=10)
# A writer that slept for longer between its mark and its write looks again.
LONGEST_LOOK = 60.0
# Services that do not know a condition refuse it so. A 403 is none of them: it also means missing rights.
_UNKNOWN_CONDITION = frozenset({"400", "501", "InvalidArgument", "InvalidRequest", "NotImplemented"})

# Returns the bytes from the first to the last position; fewer, or none, where the object ends before.
Fetch = Callable[[int, int], bytes]

log = structlog.get_logger("larder.blobs")


class Conflict(StorageUnavailable):
    """The object exists, or another write is in progress."""

    def __init__(self, status: int, *, is_there: bool) -> None:
        super().__init__(f"Storage refused the request ({status}).")
        self.is_there = is_there


class Refused(StorageUnavailable):
    def __init__(self, code: str) -> None:
        super().__init__(f"Storage refused the request ({code}).")
        self.knows_condition = code not in _UNKNOWN_CONDITION


def _away() -> StorageUnavailable:
    return StorageUnavailable("Storage is temporarily unavailable.", hint="Try again in a few seconds.")


class ObjectBackend(ABC):
    condition: ClassVar[str]  # the service's own "create only", as `creates_by` tells it
    # Larger objects are stored in parts: what fails is sent again, and that is one part then.
    largest_put: ClassVar[int] = 64 * 1024 * 1024

    # Errors of the service's client that mean that no answer came.
    unanswered: ClassVar[tuple[type[Exception], ...]]

    def __init__(self, prefix: str, *, bucket: str) -> None:
        self._prefix = f"{checked(prefix)}/" if prefix else ""
        self.circuit = Circuit(STORAGE, f"{bucket}/{self._prefix}", _away, self.probe)

    # --- What a driver implements --------------------------------------------------------------------------------

    @abstractmethod
    def _put(self, name: str, file: IO[bytes], *, only_new: bool, sha256: str = "") -> None:
        """Store a file of at most `largest_put` bytes in one request. `sha256` in base64, for services that check."""

    @abstractmethod
    def _put_parts(self, name: str, parts: Iterable[bytes], *, only_new: bool) -> None:
        """Store the parts, all but the last of PART bytes and the first one full. Incomplete ones stay invisible."""

    @abstractmethod
    def _listed(self, start: str) -> Iterator[tuple[str, datetime]]:
        """Yield name and time of last write of every object whose name begins so."""

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Map the errors of the service to ours, by their codes: their texts name hosts and buckets."""

    @abstractmethod
    def read(self, key: str, start: int, stop: int | None) -> Iterator[bytes]: ...

    @abstractmethod
    def size(self, key: str) -> int | None: ...

    @abstractmethod
    def delete(self, key: str) -> None: ...

    @abstractmethod
    def link(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> str | None: ...

    def upload_link(self, key: str, *, size: int, seconds: int) -> UploadLink | None:  # noqa: ARG002  # S3 has it
        return None

    def upload_origin(self) -> str:
        return ""

    # --- What follows from it ------------------------------------------------------------------------------------

    @contextmanager
    def _answers(self) -> Iterator[None]:
        """Around each exchange with the service. Raises StorageUnavailable at once while it is away."""
        with self._errors(), self.circuit.exchange(*self.unanswered):
            yield

    def write(self, key: str, chunks: Iterable[bytes]) -> None:
        self._send(key, _in_parts(chunks), only_new=False)

    def _send(self, key: str, parts: Iterator[bytes], *, only_new: bool) -> None:
        first = next(parts)
        if len(first) < PART:
            self._put(self._name(key), BytesIO(first), only_new=only_new)
            return
        parts = chain([first], parts)
        del first  # or its memory stays until the last part
        self._put_parts(self._name(key), parts, only_new=only_new)

    def open(self, key: str) -> BinaryIO | None:
        """Spool to an unnamed file: readers of archives seek, and the checking child takes a descriptor."""
        try:
            steps = self.read(key, 0, None)
        except Missing:
            return None
        with closing(cast("Any", steps)), disk_errors():
            spool = cast("BinaryIO", tempfile.TemporaryFile(buffering=STEP))  # noqa: SIM115  # the caller closes it
            try:
                for step in steps:
                    spool.write(step)
                spool.seek(0)
            except BaseException:
                spool.close()
                raise
            return spool

    def identity(self, key: str) -> None:  # noqa: B027  # no server can send it as a file
        ...

    def path(self, key: str) -> None: ...  # noqa: B027  # likewise

    def put_once(self, key: str, data: bytes) -> bool:
        return self._create(key, BytesIO(data))

    def commit(
        self,
        source: str,
        target: str,
        digest: str,
        *,
        is_hashed: bool = False,  # noqa: ARG002  # see below
        seen: Identity | None = None,  # noqa: ARG002
    ) -> bool:
        """Send the bytes once more, and hash them on the way: few services copy and create only at once."""
        spool = shown(lambda: self.open(source))
        if spool is None:
            raise Missing("The uploaded bytes are no longer in storage.")
        with spool:
            found = hashlib.sha256()
            while step := spool.read(STEP):
                found.update(step)
            if found.hexdigest() != digest:
                raise Damaged(
                    f"The uploaded bytes have changed: found sha256:{found.hexdigest()}, expected sha256:{digest}."
                )
            return self._create(target, spool, sha256=base64.b64encode(found.digest()).decode())

    @contextmanager
    def receiving(self, key: str, chunks: Iterable[bytes]) -> Iterator[Callable[[str, str], bool]]:
        self.write(key, chunks)
        try:
            yield lambda target, digest: self.commit(key, target, digest)
        finally:
            self.delete(key)

    def older(self, prefix: str, before: datetime) -> Iterator[str]:
        with self._answers():
            for name, written in self._listed(f"{self._prefix}{checked(prefix)}"):
                if written < before:
                    yield name.removeprefix(self._prefix)

    def drop_older(self, folder: str, before: datetime, *, kept: Collection[str] = ()) -> int:
        dropped = 0
        for key in self.older(folder, before):
            if key.startswith(f"{folder}/") and key not in kept:
                self.delete(key)
                dropped += 1
        return dropped

    def probe(self) -> None:
        """List, which needs no right that Larder does not need anyway."""
        try:
            with self._answers():
                next(self._listed(f"{self._prefix}{STAGING}/"), None)
        except Missing:
            raise StorageUnavailable("The storage bucket does not exist.") from None

    def free_bytes(self) -> None: ...  # noqa: B027  # object storage does not say

    def _name(self, key: str) -> str:
        return f"{self._prefix}{checked(key)}"

    # --- Create only ---------------------------------------------------------------------------------------------

    def creates_by(self) -> str:
        return self.condition if self._refuses_existing else "turns"

    @cached_property
    def _refuses_existing(self) -> bool:
        """Ask the server once whether it honours the condition: some do not know it, and overwrite."""
        refuses = self._refuses(lambda key: self._send(key, iter([b"probe"]), only_new=True))
        if not refuses:
            log.warning("storage_ignores_conditions", storage=type(self).__name__)
        return refuses

    @cached_property
    def _refuses_existing_in_parts(self) -> bool:
        return self._refuses(lambda key: self._send(key, iter([bytes(PART)]), only_new=True))

    def _refuses(self, create: Callable[[str], None]) -> bool:
        key = f"{STAGING}/probe-{uuid.uuid4().hex}"
        try:
            self.write(key, [b"probe"])
            create(key)
        except Conflict as conflict:
            if not conflict.is_there:
                raise
            return True
        except Refused as refusal:
            if refusal.knows_condition:
                raise
            return False
        else:
            return False
        finally:
            with suppress(StorageUnavailable):
                self.delete(key)

    def _create(self, key: str, file: IO[bytes], *, sha256: str = "") -> bool:
        """Create the object; False may also mean our own write, whose answer was lost and which the client repeated."""
        is_large = file.seek(0, 2) > self.largest_put
        only_new = self._refuses_existing and (not is_large or self._refuses_existing_in_parts)

        def send() -> None:
            file.seek(0)
            if is_large:
                self._send(key, iter(lambda: file.read(PART), b""), only_new=only_new)
            else:
                self._put(self._name(key), file, only_new=only_new, sha256=sha256)

        if not only_new:
            return create_by_turns(self, key, send)
        for round_ in range(RACE_ROUNDS):
            try:
                send()
            except Conflict as conflict:
                if conflict.is_there:
                    return False
                time.sleep(0.1 * 2**round_)
            else:
                return True
        raise StorageUnavailable("Storage could not resolve a race between two writes.")


def create_by_turns(backend: Backend, key: str, write: Callable[[], None]) -> bool:
    """Call `write`, which creates the object, unless the object exists; return False if it does.

    For storage that cannot create only once itself: a writer leaves a mark and then lists the marks for the same
    object. If it is alone and the object does not exist, it writes the object and removes its mark; otherwise it
    removes its mark and tries again. Of two writers at least the later one sees the other's mark, since it lists after
    it has left its own. So storage must list what was written before.
    """
    # In staging, where the sweep removes the marks that nobody meets again.
    folder = f"{STAGING}/turns/{hashlib.sha256(key.encode()).hexdigest()}"
    for round_ in range(TURN_ROUNDS):
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
    raise StorageUnavailable("Another process is writing the same object to storage, or died while doing so.")


def _is_alone(backend: Backend, folder: str, mark: str) -> bool:
    marks = set(backend.older(folder, datetime.max.replace(tzinfo=UTC)))
    if marks == {mark}:
        return True
    stale = set(backend.older(folder, timezone.now() - STALE_MARK)) - {mark}
    for other in stale:
        backend.delete(other)
    return marks - stale == {mark}


class _Ranges:
    """The bytes that `Steps` reads, DOWNLOAD_BYTES at a time: clients that stream keep whole objects in memory."""

    def __init__(self, fetch: Fetch, start: int, stop: int | None) -> None:
        self._fetch = fetch
        self._at = start
        self._stop = stop
        self._ready = b""
        self._is_over = False

    def fill(self) -> None:
        end = self._at + DOWNLOAD_BYTES
        if self._stop is not None:
            end = min(end, self._stop)
        self._ready = self._fetch(self._at, end - 1)
        self._is_over = len(self._ready) < end - self._at or end == self._stop
        self._at += len(self._ready)

    def read(self, size: int, /) -> bytes:
        if not self._ready and not self._is_over:
            self.fill()
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def close(self) -> None:
        self._ready, self._is_over = b"", True


def in_ranges(
    fetch: Fetch, start: int, stop: int | None, *, errors: Callable[[], AbstractContextManager[None]]
) -> Iterator[bytes]:
    """Return the bytes from `start` to `stop`, read by `fetch`. The first of them are read at once."""
    ranges = _Ranges(fetch, start, stop)
    with errors():
        ranges.fill()
    return Steps(ranges, left=None, errors=errors)


def _in_parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join chunks to parts of exactly PART bytes; the last may be shorter, and there is at least one."""
    buffer = bytearray()
    count = 0
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= PART:
            with memoryview(buffer) as view:
                part = bytes(view[:PART])
            del buffer[:PART]
            count += 1
            yield part
    if buffer or not count:
        yield bytes(buffer)
