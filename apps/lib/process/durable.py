"""File names that survive a power cut: fsync of a file saves its bytes, fsync of its folder its name."""

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Create the folder and its parents, with access for the owner only, each synced before the next."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    settle(folder.parent)


def settle(folder: Path) -> None:
    """Sync the names in a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
