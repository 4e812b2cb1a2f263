"""A tree in a folder of this host: of the copy, of an unpacked bundle, or of a follower.

It takes files in batches. A file appears whole, by a rename. Callers write one batch after the other, so that what
names a file comes after it, for clients and after a power cut alike.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from apps.blobs import store
from apps.blobs.backends.local import LocalBackend
from apps.blobs.store import StorageUnavailable
from apps.contrib.copy.tree.documents import Content, Stored

# Of a bundle or a follower: another file of this host.
File = tuple[str, Content | Path]
# Where unfinished files are, and the lock of the one writer.
WRITING = ".writing"
# From so many files on one sync of the whole disk is faster than one for each.
MANY = 64
# What an error of `os.link` means if the bytes have to be copied: another disk, another owner, no links, too many.
CANNOT_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
_numbers = count()
# The web server is another user, and reads private files as a member of the folder's group. No one else may: a link
# shares its mode with the blob, whose folder may be open to all. What is not below public/ names what is private.
PUBLIC_MODE, PRIVATE_MODE, FOLDER_MODE, PRIVATE_FOLDER_MODE = 0o444, 0o440, 0o755, 0o750


def _mode_of(path: str) -> int:
    return PUBLIC_MODE if path.startswith("public/") else PRIVATE_MODE


class Busy(StorageUnavailable):
    """Another process writes into this copy."""

    def __init__(self) -> None:
        super().__init__("Another process is writing this copy.", hint="Wait until it has ended, and try again.")


class Folder(LocalBackend):
    """Bytes are hard links to the store's, or the bundle's, where both are on one disk."""

    at_once = 5_000  # files of a batch: one sync of the disk makes them durable

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._made: set[Path] = set()
        self._changed: set[Path] = set()  # folders whose names are not durable yet

    def path(self, key: str) -> Path:
        return self.root / key  # that of discovery begins with a dot

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

    def size(self, key: str) -> int | None:
        return super().size(key) if (self.root / key).is_file() else None

    def _written(self, path: str, content: Content | Path, new: list[Path]) -> Path:
        """Write a temporary file. It is added to `new` unless its bytes are durable: those of the store are."""
        temporary = self.root / WRITING / f"{os.getpid()}-{next(_numbers)}.part"
        if isinstance(content, bytes):
            temporary.write_bytes(content)
        elif _linked(content, temporary, _mode_of(path)):
            if isinstance(content, Path):
                new.append(temporary)
            return temporary
        elif isinstance(content, Path):
            shutil.copyfile(content, temporary)
        else:
            with temporary.open("wb") as file:
                for step in store.read(content.digest):
                    file.write(step)
        temporary.chmod(_mode_of(path))
        new.append(temporary)
        return temporary

    def _make(self, folder: Path) -> None:
        if folder not in self._made:
            missing = []
            while not folder.is_dir():
                missing.append(folder)
                folder = folder.parent
            for one in reversed(missing):
                one.mkdir(exist_ok=True)  # another thread of a follower may need it too
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


def _linked(content: Stored | Path, temporary: Path, mode: int) -> bool:
    """Link a file and let the mode's users read it too; False where it has to be copied."""
    source = content if isinstance(content, Path) else store.path_of(content.digest)
    if source is None:
        return False
    try:
        found = source.stat()
        if isinstance(content, Stored) and found.st_size != content.size:
            raise store.Damaged(f"sha256:{content.digest} has another size in storage.")
        os.link(source, temporary)
        # Who reads it under another name still may. In a bundle no one reads it, and its mode is anything.
        is_read = isinstance(content, Stored) or found.st_nlink > 1
        temporary.chmod(mode | (stat.S_IMODE(found.st_mode) if is_read else 0))
    except FileNotFoundError:
        if isinstance(content, Path):
            raise
        raise store.Missing(f"sha256:{content.digest} is not in storage.") from None
    except OSError as error:
        if error.errno in CANNOT_LINK:
            temporary.unlink(missing_ok=True)  # linked, and of another owner
            return False
        raise
    return True


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
