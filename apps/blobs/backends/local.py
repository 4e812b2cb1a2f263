"""Storage on this host's disk: whole files, durable before anything is acknowledged (D20)."""

import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from io import FileIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from apps.blobs.backends import STAGING, Damaged, Identity, Missing, Steps, checked, disk_errors
from apps.lib.process.durable import make_folder, settle

# So much is written before the disk begins with it.
AHEAD_BYTES = 8 * 1024 * 1024


def open_backend(storage_url: str) -> "LocalBackend":
    return LocalBackend(Path(unquote(urlsplit(storage_url).path)))


class LocalBackend:
    circuit = None

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, key: str, chunks: Iterable[bytes]) -> None:
        target = self.path(key)
        with self._unnamed() as temporary:
            self._fill(temporary, chunks)
            with disk_errors():
                make_folder(target.parent)
                temporary.replace(target)
                settle(target.parent)

    def open(self, key: str) -> BinaryIO | None:
        with disk_errors():
            try:
                return self.path(key).open("rb")
            except FileNotFoundError:
                return None

    def read(self, key: str, start: int, stop: int | None) -> Iterator[bytes]:
        file = self.open(key)
        if file is None:
            raise Missing("There is no such object in storage.")
        file.seek(start)
        return Steps(file, left=None if stop is None else max(0, stop - start))

    def size(self, key: str) -> int | None:
        with disk_errors():
            try:
                return self.path(key).stat().st_size
            except FileNotFoundError:
                return None

    def identity(self, key: str) -> Identity | None:
        with disk_errors():
            try:
                return _identity_of(self.path(key))
            except FileNotFoundError:
                return None

    def path(self, key: str) -> Path:
        return self.root / checked(key)

    def put_once(self, key: str, data: bytes) -> bool:
        target = self.path(key)
        with self._unnamed() as temporary:
            self._fill(temporary, [data])
            return _link_once(temporary, target)

    def commit(
        self, source: str, target: str, digest: str, *, is_hashed: bool = False, seen: Identity | None = None
    ) -> bool:
        if is_hashed:
            path = self.path(source)
            _make_read_only(path)
            return _link_once(path, self.path(target))
        with self._unnamed() as temporary:
            # The second name pins the file that is hashed: nobody can replace it in between (TOCTOU).
            with disk_errors():
                try:
                    os.link(self.path(source), temporary)
                except FileNotFoundError:
                    raise Missing("The uploaded bytes are no longer in storage.") from None
                temporary.chmod(0o400)
                now = _identity_of(temporary)
                # A second name changes the time of the last change, and nothing else.
                if seen is None or now._replace(changed=seen.changed) != seen:
                    with temporary.open("rb") as file:
                        found = hashlib.file_digest(file, "sha256").hexdigest()
                    if found != digest:
                        raise Damaged(f"The uploaded bytes changed: found sha256:{found}, expected sha256:{digest}.")
            return _link_once(temporary, self.path(target))

    @contextmanager
    def receiving(self, key: str, chunks: Iterable[bytes]) -> Iterator[Callable[[str, str], bool]]:  # noqa: ARG002
        # A temporary name instead of `key` saves the fsync of the staging folder.
        with self._unnamed() as temporary:
            self._fill(temporary, chunks)

            def commit(target: str, _digest: str) -> bool:
                _make_read_only(temporary)
                return _link_once(temporary, self.path(target))

            yield commit

    def delete(self, key: str) -> None:
        with disk_errors():
            self.path(key).unlink(missing_ok=True)

    def older(self, prefix: str, before: datetime) -> Iterator[str]:
        folder, _, name = checked(prefix).rpartition("/")
        with disk_errors():
            for top in (self.path(folder) if folder else self.root).glob(f"{name}*"):
                # One folder at a time, each with a small part of the objects.
                walked = (
                    os.walk(top, onerror=_raise_unless_gone) if top.is_dir() else [(str(top.parent), [], [top.name])]
                )
                for found, folders, names in walked:
                    folders.sort()
                    for path in (Path(found, name) for name in sorted(names)):
                        if _is_older(path, before):
                            yield path.relative_to(self.root).as_posix()

    def drop_older(self, folder: str, before: datetime, *, kept: Collection[str] = ()) -> int:
        dropped = 0
        with disk_errors():
            for path in self.path(folder).rglob("*"):
                # Another sweep, or an upload that ends now, may be quicker.
                with suppress(FileNotFoundError):
                    if _is_older(path, before) and path.relative_to(self.root).as_posix() not in kept:
                        path.unlink()
                        dropped += 1
        return dropped

    def probe(self) -> None:
        with self._unnamed() as temporary, disk_errors():
            temporary.write_bytes(b"ready?")

    def free_bytes(self) -> int:
        with disk_errors():
            return shutil.disk_usage(self.root).free

    def link(self, key: str, *, seconds: int, headers: Mapping[str, str]) -> None:
        """Files of this host have no URL of their own."""

    def upload_link(self, key: str, *, size: int, seconds: int) -> None:
        """Likewise."""

    def upload_origin(self) -> str:
        return ""

    def creates_by(self) -> str:
        return "hard links"

    @contextmanager
    def _unnamed(self) -> Iterator[Path]:
        """Yield a path that no key can name. The staging sweep deletes it if this process is killed."""
        temporary = self.root / STAGING / f".{uuid.uuid4().hex}.part"
        with disk_errors():
            make_folder(temporary.parent)
        try:
            yield temporary
        finally:
            with disk_errors():
                temporary.unlink(missing_ok=True)

    def _fill(self, path: Path, chunks: Iterable[bytes]) -> None:
        """Write and fsync. What `chunks` raises passes through: it is no error of the disk.

        The kernel is asked to write early. Left alone, a large file waits for its fsync, and its writer is slowed down
        once too much is waiting: 1 GiB took 8 s on a busy disk, and 1 s so.
        """
        with disk_errors():
            file = FileIO(path, "xb", opener=partial(os.open, mode=0o600))
        # Unbuffered, so that a full disk shows on write and not on close.
        with file:
            begun = written = 0
            for chunk in chunks:
                rest = memoryview(chunk)
                with disk_errors():
                    while rest:
                        rest = rest[file.write(rest) :]
                    written += len(chunk)
                    if written - begun >= AHEAD_BYTES:
                        if hasattr(os, "posix_fadvise"):  # not on macOS; it drops nothing that is not yet written
                            os.posix_fadvise(file.fileno(), begun, written - begun, os.POSIX_FADV_DONTNEED)
                        begun = written
            with disk_errors():
                os.fsync(file.fileno())


def _identity_of(path: Path) -> Identity:
    found = path.stat()
    return Identity(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _make_read_only(path: Path) -> None:
    with disk_errors():
        try:
            path.chmod(0o400)
        except FileNotFoundError:
            raise Missing("The uploaded bytes are no longer in storage.") from None


def _link_once(source: Path, target: Path) -> bool:
    """Link `source` to its final name; return False if it exists. link(2) is atomic: one caller wins."""
    with disk_errors():
        make_folder(target.parent)
        try:
            os.link(source, target)
        except FileExistsError:
            created = False
        else:
            created = True
        # The loser syncs too: its False acknowledges bytes that the winner may not have synced yet.
        settle(target.parent)
    return created


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error


def _is_older(path: Path, before: datetime) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_mtime < before.timestamp()
