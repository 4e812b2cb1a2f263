"""Names that survive a power cut: a file's own fsync keeps its bytes, that of its folder keeps its name."""

import os
from pathlib import Path


def make_folder(folder: Path) -> None:
    """Make it and what is missing above it, for their owner alone, each before anything is written into it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    settle(folder.parent)


def settle(folder: Path) -> None:
    """Write the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
