"""Folders that live as long as a fetch. One that a killed process left behind is removed at the next."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "larder-git-"
_LOCK = "lock"
# Between the making of a folder and of its lock nothing shows that it is used.
_YOUNG_SECONDS = 60.0


@contextmanager
def temporary() -> Iterator[Path]:
    """Give a folder that only this user can read, and remove it afterwards."""
    sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    try:
        with (folder / _LOCK).open("wb") as lock:
            # Not a process id: those are used again, and containers that share the folder have their own.
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> int:
    """Remove the folders whose process was killed. Return how many."""
    removed, root = 0, Path(tempfile.gettempdir())
    with suppress(OSError), os.scandir(root) as found:
        for one in found:
            if one.name.startswith(PREFIX) and one.is_dir(follow_symlinks=False) and _is_left(Path(one.path)):
                shutil.rmtree(one.path, ignore_errors=True)
                removed += 1
    return removed


def _is_left(folder: Path) -> bool:
    try:
        if time.time() - folder.stat().st_mtime < _YOUNG_SECONDS or folder.stat().st_uid != os.getuid():
            return False
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return folder.is_dir()
    except OSError:
        return False
    return True
