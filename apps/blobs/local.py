"""Bytes on this host's disk: plain os calls, whole files only, durable before anything is acknowledged (D20)."""

import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from apps.blobs.backends import STAGING, Damaged, Missing, Steps, checked, disk_errors
from apps.lib.durable import make_folder, settle


def open_backend(storage_url: str) -> "LocalBackend":
    return LocalBackend(Path(unquote(urlsplit(storage_url).path)))


class LocalBackend:
    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, key: str, chunks: Iterable[bytes]) -> None:
        target = self._path(key)
        with self._unnamed() as temporary:
            self._fill(temporary, chunks)
            with disk_errors():
                make_folder(target.parent)
                temporary.replace(target)
                settle(target.parent)

    def open(self, key: str) -> BinaryIO | None:
        with disk_errors():
            try:
                return self._path(key).open("rb")
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
                return self._path(key).stat().st_size
            except FileNotFoundError:
                return None

    def put_once(self, key: str, data: bytes) -> bool:
        target = self._path(key)
        with self._unnamed() as temporary:
            self._fill(temporary, [data])
            return _link_once(temporary, target)

    def promote(self, source: str, target: str, digest: str) -> bool:
        with self._unnamed() as temporary:
            # The second name pins the file that is hashed here: nobody can put another one in its place (TOCTOU).
            with disk_errors():
                try:
                    os.link(self._path(source), temporary)
                except FileNotFoundError:
                    raise Missing("The uploaded bytes are no longer in storage.") from None
                temporary.chmod(0o400)
                with temporary.open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != digest:
                raise Damaged(f"The uploaded bytes have changed: found sha256:{found}, expected sha256:{digest}.")
            return _link_once(temporary, self._path(target))

    def adopt(self, source: str, target: str, digest: str) -> bool:  # noqa: ARG002  # others must name it
        path = self._path(source)
        with disk_errors():
            try:
                path.chmod(0o400)
            except FileNotFoundError:
                raise Missing("The uploaded bytes are no longer in storage.") from None
        return _link_once(path, self._path(target))

    @contextmanager
    def arriving(self, key: str, chunks: Iterable[bytes]) -> Iterator[Callable[[str, str], bool]]:  # noqa: ARG002
        """A name that no key can have does; without one of its own in staging the folder needs no wait either."""
        with self._unnamed() as temporary:
            self._fill(temporary, chunks)

            def keep(target: str, _digest: str) -> bool:
                with disk_errors():
                    temporary.chmod(0o400)
                return _link_once(temporary, self._path(target))

            yield keep

    def delete(self, key: str) -> None:
        with disk_errors():
            self._path(key).unlink(missing_ok=True)

    def older(self, prefix: str, before: datetime) -> Iterator[str]:
        folder, _, name = checked(prefix).rpartition("/")
        with disk_errors():
            for top in sorted(self._path(folder).glob(f"{name}*")):
                # One folder at a time: each holds a small part of the objects.
                for path in sorted([top, *top.rglob("*")]):
                    if _is_older(path, before):
                        yield path.relative_to(self.root).as_posix()

    def drop_older(self, folder: str, before: datetime) -> int:
        dropped = 0
        with disk_errors():
            for path in self._path(folder).rglob("*"):
                # Another sweep, or the upload that ends just now, may be quicker.
                with suppress(FileNotFoundError):
                    if _is_older(path, before):
                        path.unlink()
                        dropped += 1
        return dropped

    def probe(self) -> None:
        with self._unnamed() as temporary, disk_errors():
            temporary.write_bytes(b"ready?")

    def free_bytes(self) -> int:
        with disk_errors():
            return shutil.disk_usage(self.root).free

    def _path(self, key: str) -> Path:
        return self.root / checked(key)

    @contextmanager
    def _unnamed(self) -> Iterator[Path]:
        """Yield a path that no key can name. The staging sweep finds it where a killed process left it."""
        temporary = self.root / STAGING / f".{uuid.uuid4().hex}.part"
        with disk_errors():
            make_folder(temporary.parent)
        try:
            yield temporary
        finally:
            with disk_errors():
                temporary.unlink(missing_ok=True)

    def _fill(self, path: Path, chunks: Iterable[bytes]) -> None:
        """Write and fsync. Errors that `chunks` raise pass through as they are: they are not the disk's."""
        with disk_errors():
            file = FileIO(path, "xb", opener=_private)
        # Unbuffered, so that closing cannot be what meets the full disk.
        with file:
            for chunk in chunks:
                rest = memoryview(chunk)
                with disk_errors():
                    while rest:
                        rest = rest[file.write(rest) :]
            with disk_errors():
                os.fsync(file.fileno())


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _link_once(source: Path, target: Path) -> bool:
    """Give `source` its final name. link(2) is the lock: of any number of callers one creates the name."""
    with disk_errors():
        make_folder(target.parent)
        try:
            os.link(source, target)
        except FileExistsError:
            created = False
        else:
            created = True
        # The loser settles too: the winner may not have come so far, and «is there» is an acknowledgement.
        settle(target.parent)
    return created


def _is_older(path: Path, before: datetime) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_mtime < before.timestamp()
