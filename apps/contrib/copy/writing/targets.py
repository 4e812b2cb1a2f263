"""The targets of a copy: a folder of this host, or a bucket.

Both take files in batches. A file appears whole: by a rename, or by one request. Callers write one batch after the
other, so that what names a file comes after it, for clients and after a power cut alike.
"""

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from django.utils.module_loading import import_string

from apps.blobs import store
from apps.blobs.store import StorageUnavailable
from apps.contrib.copy.tree.documents import Content, Stored

File = tuple[str, Content]
# Where unfinished files are, and the lock of the one writer.
WRITING = ".writing"
STEP = 256 * 1024  # bytes
# From so many files on one sync of the whole disk is faster than one for each.
MANY = 64
# The web server is another user, and reads private files as a member of the folder's group. No one else may: a link
# shares its mode with the blob, whose folder may be open to all. What is not below public/ names what is private.
PUBLIC_MODE, PRIVATE_MODE, FOLDER_MODE, PRIVATE_FOLDER_MODE = 0o444, 0o440, 0o755, 0o750


def _mode_of(path: str) -> int:
    return PUBLIC_MODE if path.startswith("public/") else PRIVATE_MODE


class Busy(StorageUnavailable):
    """Another process writes into this copy."""

    def __init__(self) -> None:
        super().__init__("Another process is writing this copy.", hint="Wait until it has ended, and try again.")


class Target(Protocol):
    """Every method raises StorageUnavailable where the copy's storage is away, refuses, or is full."""

    def held(self) -> Any:
        """A context in which no other writer of this host writes. Raises Busy."""

    def put(self, files: Sequence[File], *, is_last: bool = True) -> None:
        """Write files. They are durable before the next batch appears; the last one is when this returns."""

    def remove(self, paths: Sequence[str], *, is_last: bool = True) -> None:
        """Remove files, which need not be there. Durable as those of `put`."""

    def stored(self, path: str) -> Stored | None:
        """Read the file, and return what it has."""

    def paths(self) -> Iterator[str]:
        """Yield the path of every file below `public/` and `private/`."""

    def size(self, path: str) -> int | None:
        """Return how many bytes a file has; None if there is none."""

    def read(self, path: str, start: int, stop: int | None) -> Iterator[bytes]:
        """Yield the bytes from `start` up to `stop`. Raises Missing."""


def at(url: str) -> Target:
    if urlsplit(url).scheme == "file":
        return Folder(Path(unquote(urlsplit(url).path)))
    bucket: Target = import_string("apps.contrib.copy.writing.bucket.Bucket")(url)  # boto3 costs 0.3 s and 20 MB
    return bucket


class Folder:
    """Bytes are hard links to the store's where both are on one disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._made: set[Path] = set()
        self._changed: set[Path] = set()  # folders whose names are not durable yet
        self._number = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        with _errors():
            (self.root / WRITING).mkdir(parents=True, exist_ok=True)
            (self.root / "private").mkdir(mode=PRIVATE_FOLDER_MODE, exist_ok=True)
            lock = (self.root / WRITING / "lock").open("w")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Busy from None
            self._made.clear()
            with _errors():
                for left in (self.root / WRITING).glob("*.part"):
                    left.unlink()
            yield

    def put(self, files: Sequence[File], *, is_last: bool = True) -> None:
        with _errors():
            new: list[Path] = []
            written = [(self._written(path, content, new), self.root / path) for path, content in files]
            self._settle([*new, *self._changed])
            for temporary, target in written:
                self._make(target.parent)
                temporary.replace(target)
                self._changed.add(target.parent)
            if is_last:
                self._settle(self._changed)

    def remove(self, paths: Sequence[str], *, is_last: bool = True) -> None:
        with _errors():
            for path in paths:
                (self.root / path).unlink(missing_ok=True)
            for folder in {(self.root / path).parent for path in paths}:
                self._prune(folder)
            if is_last:
                self._settle(self._changed)

    def stored(self, path: str) -> Stored | None:
        with _errors():
            try:
                file = (self.root / path).open("rb")
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None
            with file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                return Stored(digest, file.tell())

    def paths(self) -> Iterator[str]:
        with _errors():
            for side in ("public", "private"):
                for folder, folders, names in os.walk(self.root / side):
                    folders.sort()
                    below = Path(folder).relative_to(self.root)
                    yield from (f"{below}/{name}" for name in sorted(names))

    def size(self, path: str) -> int | None:
        with _errors():
            file = self.root / path
            return file.stat().st_size if file.is_file() else None

    def read(self, path: str, start: int, stop: int | None) -> Iterator[bytes]:
        try:
            with (self.root / path).open("rb") as file:
                file.seek(start)
                left = stop - start if stop is not None else -1
                while left and (data := file.read(STEP if left < 0 else min(STEP, left))):
                    left -= len(data) if left > 0 else 0
                    yield data
        except FileNotFoundError:
            raise store.Missing(f"{path} is not in the copy.") from None

    def _written(self, path: str, content: Content, new: list[Path]) -> Path:
        """Write a temporary file. It is added to `new` unless its bytes are durable: those of a link are."""
        self._number += 1
        temporary = self.root / WRITING / f"{os.getpid()}-{self._number}.part"
        if isinstance(content, bytes):
            temporary.write_bytes(content)
        elif self._linked(content, temporary):
            # Who may read it under another name still may.
            temporary.chmod(stat.S_IMODE(temporary.stat().st_mode) | _mode_of(path))
            return temporary
        else:
            with temporary.open("wb") as file:
                for step in store.read(content.digest):
                    file.write(step)
        temporary.chmod(_mode_of(path))
        new.append(temporary)
        return temporary

    def _linked(self, content: Stored, temporary: Path) -> bool:
        """Link the blob; False where it is not on this disk, or has as many names as a file can have."""
        source = store.path_of(content.digest)
        if source is None:
            return False
        try:
            if source.stat().st_size != content.size:
                raise store.Damaged(f"sha256:{content.digest} has another size in storage.")
            os.link(source, temporary)
        except FileNotFoundError:
            raise store.Missing(f"sha256:{content.digest} is not in storage.") from None
        except OSError as error:
            if error.errno in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
                return False
            raise
        return True

    def _make(self, folder: Path) -> None:
        if folder not in self._made:
            missing = []
            while not folder.is_dir():
                missing.append(folder)
                folder = folder.parent
            for one in reversed(missing):
                one.mkdir()
                one.chmod(FOLDER_MODE)
                self._changed.add(one.parent)
            self._made.update(missing)

    def _prune(self, folder: Path) -> None:
        """Remove folders in which nothing is left."""
        while folder not in (self.root, self.root / "public", self.root / "private"):
            self._made.discard(folder)
            self._changed.discard(folder)
            try:
                folder.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                break
            folder = folder.parent
        if folder.is_dir():
            self._changed.add(folder)

    def _settle(self, paths: Collection[Path]) -> None:
        """Have files and folders survive a power cut, and with them what the batch before has changed."""
        if len(paths) >= MANY:
            os.sync()
        else:
            for path in paths:
                descriptor = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        self._changed.clear()


@contextmanager
def _errors() -> Iterator[None]:
    """Turn an OSError into StorageUnavailable, which the job waits out."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageUnavailable(
                "The disk of the static copy is full.", hint="Free some space; the writer then continues."
            ) from error
        name = errno.errorcode.get(error.errno or 0, "unknown")
        raise StorageUnavailable(
            f"The folder of the static copy cannot be written ({name}).",
            hint="Check that it is mounted, and that Larder's user owns it.",
        ) from error
