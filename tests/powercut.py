"""A power cut, as a file system may have it at worst: what was not synced is gone.

POSIX promises the bytes of a file from its fsync on, and the names in a folder from the fsync of that folder on. The
kernel keeps everything until a real cut, so this remembers what each fsync made durable, and says what would be left.
"""

import os
import stat
from pathlib import Path

import pytest


class PowerCut:
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.bytes: dict[int, bytes] = {}
        self.names: dict[int, dict[str, int]] = {}
        sync = os.fsync

        def fsync(descriptor: int) -> None:
            sync(descriptor)
            self._note(descriptor)

        patch.setattr(os, "fsync", fsync)

    def _note(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(descriptor) as entries:
                self.names[found.st_ino] = {entry.name: entry.inode() for entry in entries}
        else:
            self.bytes[found.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    def left(self, folder: Path) -> dict[str, bytes]:
        """Path below the folder: bytes, of each file whose name is left. Bytes that were not synced are none."""
        return dict(self._walk(folder.stat().st_ino, ""))

    def _walk(self, inode: int, prefix: str) -> list[tuple[str, bytes]]:
        found = []
        for name, child in self.names.get(inode, {}).items():
            if child in self.names:
                found += self._walk(child, f"{prefix}{name}/")
            else:
                found.append((prefix + name, self.bytes.get(child, b"")))
        return found


@pytest.fixture
def power_cut(monkeypatch: pytest.MonkeyPatch) -> PowerCut:
    return PowerCut(monkeypatch)
