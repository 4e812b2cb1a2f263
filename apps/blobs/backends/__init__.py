"""The interface of storage backends, which `local.py` and the drivers on `objects.py` implement.

Other rooms call `store.py`.
"""

import errno
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, Self, TypeVar, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from apps.lib.errors import NotFound, RegistryError, Unavailable
from apps.lib.process import metrics, traces
from apps.lib.process.outside import Circuit

STEP = 256 * 1024  # bytes of the first read of a stored object
# Later reads are larger: each costs a change of threads, and this doubles the speed of a download.
LARGEST_STEP = 1024 * 1024
STAGING = "staging"
# Longer than a service takes to show an object that it has stored.
SHOWN_SECONDS = 4.0

# No segment begins with a dot, so a key names neither `..` nor a temporary file.
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+~-]*(/[A-Za-z0-9_][A-Za-z0-9_.+~-]*)*")
_KEY_MAX = 600


T = TypeVar("T")


class Identity(NamedTuple):
    """Numbers of a file that change with every write to it."""

    device: int
    inode: int
    size: int
    modified: int  # nanoseconds, as the next
    changed: int


class StorageUnavailable(Unavailable):
    """Storage is away, refuses, or is full: an outage and not the fault of a release."""


class Damaged(RegistryError):
    """Stored or staged bytes do not match their digest or size."""


class Missing(NotFound):
    """No object of that key."""


class BadKey(ValueError):
    """A key that could leave its folder, or that no file system takes. A defect of the caller."""


@dataclass(frozen=True, slots=True)
class UploadLink:
    """A PUT to this URL creates an object, if it has these headers."""

    url: str
    headers: Mapping[str, str]


class Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class Backend(Protocol):
    """Every method raises StorageUnavailable if storage does not answer, and BadKey for an invalid key."""

    @property
    def circuit(self) -> Circuit | None:
        """None where storage is this host's."""

    def write(self, key: str, chunks: Iterable[bytes]) -> None:
        """Stream to `key` in flat memory. A failure leaves the previous object in place."""

    def open(self, key: str) -> BinaryIO | None:
        """Return a real file at position 0, or None if there is no such object."""

    def read(self, key: str, start: int, stop: int | None) -> Iterator[bytes]:
        """Return the bytes from `start` up to `stop`. Raises Missing at once, not at the first step."""

    def size(self, key: str) -> int | None: ...

    def identity(self, key: str) -> Identity | None:
        """Return the identity of the object's file; None if it is not a file on this host."""

    def path(self, key: str) -> Path | None:
        """Return where the file is or would be; None if objects are not files on this host."""

    def put_once(self, key: str, data: bytes) -> bool:
        """Create the object; return False if it exists."""

    def commit(
        self, source: str, target: str, digest: str, *, is_hashed: bool = False, seen: Identity | None = None
    ) -> bool:
        """Copy to `target` after comparing the digest; return False if `target` exists. Raises Damaged, Missing.

        `is_hashed`: the bytes were hashed while they were written, so a backend need not read them again; with `seen`
        neither, if that is still the identity of the file.
        """

    def receiving(self, key: str, chunks: Iterable[bytes]) -> AbstractContextManager[Callable[[str, str], bool]]:
        """Store the chunks durably and yield a function that commits them to a target and digest.

        `key` is free again afterwards.
        """

    def delete(self, key: str) -> None:
        """Idempotent."""

    def older(self, prefix: str, before: datetime) -> Iterator[str]:
        """Yield keys with the prefix that were last written before then; in flat memory, in no order."""

    def drop_older(self, folder: str, before: datetime, *, kept: Collection[str] = ()) -> int:
        """Delete objects and unfinished writes from before then, but those in `kept`; return how many."""

    def probe(self) -> None:
        """Raise StorageUnavailable unless an upload could begin now."""

    def free_bytes(self) -> int | None:
        """Return how many more bytes fit; None if storage does not tell."""

    def link(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> str | None:
        """Return a URL by which anyone may read the object for so long, with these headers; None if there is none."""

    def upload_link(self, key: str, *, size: int, seconds: int) -> UploadLink | None:
        """Return the request by which a client without credentials may create the object, of that size; None if there
        is none.
        """

    def upload_origin(self) -> str:
        """Return the origin of such links for browsers; empty if there are none."""

    def creates_by(self) -> str:
        """Return by what means objects are created only once, after asking storage for what it can do."""


# Imported on use: boto3 costs 0.3 s and 20 MB, and a file:// installation never needs it.
_OPENERS = {
    "file": "apps.blobs.backends.local.open_backend",
    "s3": "apps.blobs.backends.s3.open_backend",
    "azure": "apps.blobs.backends.azure.open_backend",
    "gs": "apps.blobs.backends.gcs.open_backend",
}


@lru_cache(maxsize=8)
def _backend_of(storage_url: str, _process: int) -> Backend:
    """Two processes on one connection read each other's answers, so a fork opens its own."""
    scheme = urlsplit(storage_url).scheme
    if scheme not in _OPENERS:
        expected = ", ".join(f"{known}:" for known in _OPENERS)
        raise ImproperlyConfigured(f"The URL of a storage begins with {scheme!r}: expected one of {expected}")
    try:
        opener: Callable[[str], Backend] = import_string(_OPENERS[scheme])
    except ModuleNotFoundError as missing:
        raise ImproperlyConfigured(
            f"The URL of a storage begins with {scheme}:, but the package {missing.name} is not installed. Install the "
            "packages of requirements-extras.txt."
        ) from None
    return opener(storage_url)


class Traced:
    """A backend whose operations are spans. That of a read ends before its first step."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def traced(*arguments: Any, **more: Any) -> Any:
            with traces.span(f"storage {name}"):
                return getattr(self._backend, name)(*arguments, **more)

        return traced

    @contextmanager
    def receiving(self, key: str, chunks: Iterable[bytes]) -> Iterator[Callable[[str, str], bool]]:
        with traces.span("storage receiving"), self._backend.receiving(key, chunks) as commit:
            yield commit


def at(storage_url: str) -> Backend:
    """Return a storage beside Larder's own, such as that of its backups."""
    return _backend_of(storage_url, os.getpid())


def current() -> Backend:
    backend = at(settings.STORAGE_URL)
    return backend if traces.tracer is None else cast("Backend", Traced(backend))


def is_away() -> bool:
    """Return whether storage has stopped answering, so that every call fails at once."""
    circuit = at(settings.STORAGE_URL).circuit
    return circuit is not None and circuit.is_open


def checked(key: str) -> str:
    if len(key) > _KEY_MAX or not _KEY.fullmatch(key):
        raise BadKey(f"not a storage key: {key[:80]!r}")
    return key


def shown(look: Callable[[], T | None]) -> T | None:
    """Return what `look` finds of an object that was just stored; None if it does not show for SHOWN_SECONDS."""
    deadline = time.monotonic() + SHOWN_SECONDS
    while (found := look()) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn an OSError into StorageUnavailable, without paths: people read it."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            metrics.storage_errors.labels("disk_full").inc()
            raise StorageUnavailable(
                "The disk for uploads is full.", hint="Try again after an operator has freed space."
            ) from error
        name = errno.errorcode.get(error.errno or 0, "unknown")
        metrics.storage_errors.labels("disk").inc()
        raise StorageUnavailable(f"The disk for uploads failed ({name}).") from error


class Steps(Iterator[bytes]):
    """Reads an open object in steps of 256 KiB to 1 MiB. Web servers call `close` when a client leaves half-way."""

    def __init__(
        self, source: Reader, *, left: int | None, errors: Callable[[], AbstractContextManager[None]] = disk_errors
    ) -> None:
        self._source = source
        self._left = left
        self._errors = errors
        self._step = STEP

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        want = self._step if self._left is None else min(self._step, self._left)
        self._step = min(2 * self._step, LARGEST_STEP)
        with self._errors():
            data = self._source.read(want) if want else b""
        if not data:
            self.close()
            raise StopIteration
        if self._left is not None:
            self._left -= len(data)
        return data

    def close(self) -> None:
        self._left = 0
        self._source.close()
