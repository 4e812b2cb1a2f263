"""Files that were hashed with the right result within the hour: they leave without a second look.

Each process remembers its own. Of a large file it also leaves a mark beside the store for the other processes of this
host: what a worker has taken in, each web process would otherwise hash once more while its first reader waits.

A mark is signed, so a program that can only write to the store cannot make one. It holds the file's identity and the
boot of the host that has seen it: a copy of the store, another host, and a file that was written since find none.

A staged file has a mark of its own, by which a worker stores it without hashing it again.
"""

import os
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from django.core.signing import BadSignature, Signer

from apps.blobs import backends
from apps.blobs.backends import Identity

# Smaller files are hashed faster than a mark is read.
LARGE = 1024 * 1024
LIFETIME = 3600.0  # seconds, after which a disk may have lost what nobody wrote
FOLDER = "verified"
_STAGED = ".staged"
_MAX_DIGESTS = 20_000
_MAX_UNSETTLED = 1_000


class VerifiedFiles:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, tuple[Identity, float]] = {}
        self._unsettled: dict[str, tuple[str, str, Identity]] = {}

    def add(self, digest: str, identity: Identity) -> None:
        """Remember that the file has just been hashed, and had this digest."""
        at = time.monotonic()
        self._remember(digest, identity, at)
        if identity.size >= LARGE:
            _write_mark(digest, identity, at)

    def has(self, digest: str, identity: Identity | None) -> bool:
        if identity is None:
            return False
        found = self._found.get(digest)
        if found is None or found[0] != identity:
            found = _read_mark(digest) if identity.size >= LARGE else None
            if found is None or found[0] != identity:
                return False
            self._remember(digest, *found)
        return 0 <= time.monotonic() - found[1] < LIFETIME

    def add_staged(self, digest: str, identity: Identity) -> None:
        """Remember likewise a file that is staged. What is known of a blob with the same bytes stays."""
        self.add(f"{digest}{_STAGED}", identity)

    def has_staged(self, digest: str, identity: Identity | None) -> bool:
        return self.has(f"{digest}{_STAGED}", identity)

    def expect(self, staging_key: str, target: str, digest: str) -> None:
        """Note that the staged file was hashed and has a second name, `target`, until `settle`."""
        identity = backends.current().identity(target)
        if identity is None:
            return
        with self._lock:
            self._unsettled[staging_key] = (target, digest, identity)
            if len(self._unsettled) > _MAX_UNSETTLED:
                del self._unsettled[next(iter(self._unsettled))]

    def settle(self, staging_key: str) -> None:
        """Add such a file once its first name is gone, by which the file system counts it as changed."""
        with self._lock:
            noted = self._unsettled.pop(staging_key, None)
        if noted is None:
            return
        target, digest, before = noted
        now = backends.current().identity(target)
        if now is not None and now._replace(changed=before.changed) == before:
            self.add(digest, now)

    def _remember(self, digest: str, identity: Identity, at: float) -> None:
        with self._lock:
            self._found.pop(digest, None)
            self._found[digest] = (identity, at)
            if len(self._found) > _MAX_DIGESTS:
                del self._found[next(iter(self._found))]


verified_files = VerifiedFiles()


def _write_mark(digest: str, identity: Identity, at: float) -> None:
    if (path := _path(digest)) is None or not _boot():
        return
    with suppress(OSError, backends.StorageUnavailable):  # the next process hashes it
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_name(f".{digest}.{os.getpid()}.{threading.get_ident()}")
        temporary.write_text(_signer().sign_object([digest, _boot(), at, *identity]))
        temporary.replace(path)


def _read_mark(digest: str) -> tuple[Identity, float] | None:
    path = _path(digest)
    try:
        mark: list[Any] = _signer().unsign_object(path.read_text()) if path else ["", "", 0.0]
    except (OSError, BadSignature, ValueError):
        return None
    of, boot, at, *identity = mark
    return (Identity(*identity), float(at)) if of == digest and boot and boot == _boot() else None


def _path(digest: str) -> Path | None:
    return backends.current().path(f"{FOLDER}/{digest}")


def _signer() -> Signer:
    return Signer(salt="larder.verified-files")


@cache
def _boot() -> str:
    """The id of this host's boot, which containers share with it; empty where there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
