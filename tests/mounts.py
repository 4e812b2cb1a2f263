"""Disks of some megabytes, for tests that fill them: file systems in memory, which need root."""

import errno
import os
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

MOUNT = ["mount", "-t", "tmpfs", "-o"]


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """The folder as a disk of its own, for tests that are marked to need mounts."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([*MOUNT, f"size={megabytes}m,mode=0700", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        # Lazily: what failed may still have files open.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def with_small_memory(megabytes: int) -> list[str]:
    """Words before a command, whose processes have another /dev/shm: `memory_of` shows it to others."""
    script = f'{" ".join(MOUNT)} size={megabytes}m tmpfs /dev/shm && exec "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh"]


def as_in_a_container(writable: Path, checkout: Path, hidden: Iterable[Path]) -> list[str]:
    """Words before a command: it writes into this folder alone, and can neither run nor read the hidden files."""
    disk = next(folder for folder in (checkout, *checkout.parents) if folder.is_mount())
    mounts = [("--bind", writable, writable), *(("--bind", "/dev/null", file) for file in hidden)]
    lines = [shlex.join(["mount", *map(str, words)]) for words in mounts]
    lines += [shlex.join(["mount", "-o", "remount,bind,ro", str(one)]) for one in {Path("/"), disk}]
    return ["unshare", "--mount", "sh", "-euc", "\n".join([*lines, 'exec "$@"']), "sh"]


def memory_of(process: int) -> Path:
    return Path(f"/proc/{process}/root/dev/shm")


@contextmanager
def filled(disk: Path, *, but_bytes: int = 0) -> Iterator[None]:
    """Nobody else can write more than `but_bytes` there."""
    filler = disk / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        for step in (bytes(1024 * 1024), bytes(4096)):
            _write_until_full(descriptor, step)
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - but_bytes)
        yield
    finally:
        os.close(descriptor)
        filler.unlink()


def _write_until_full(descriptor: int, step: bytes) -> None:
    try:
        while True:
            os.write(descriptor, step)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
