"""The room on the disks of this host, compared with what a command will write. A server does not say what it has."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path


def lacking(needs: Iterable[tuple[Path, int]]) -> Iterator[str]:
    """Yield a sentence for each disk with less room than these folders, which may not exist yet, need together."""
    wanted: dict[int, tuple[Path, int]] = {}
    for place, size in needs:
        folder = _existing(place)
        device = folder.stat().st_dev
        wanted[device] = (folder, size + wanted.get(device, (folder, 0))[1])
    for folder, size in wanted.values():
        free = shutil.disk_usage(folder).free
        if free < size:
            yield f"The disk of {folder} has {free:,} bytes free: expected at least {size:,}."


def _existing(path: Path) -> Path:
    return path if os.access(path, os.F_OK) else _existing(path.parent)
