"""Temporary homes for gpg, one for each use, in memory if possible (D12)."""

import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from apps.blobs.store import StorageUnavailable

MEMORY = Path("/dev/shm")  # noqa: S108  # never written to a disk
# gpg's agent listens on a socket in the home, and socket paths have at most 108 bytes on Linux.
MAX_PATH_BYTES = 86
AGENT = """\
disable-scdaemon
auto-expand-secmem 0x30000
max-cache-ttl 0
"""

# What gpg says of it, in the language that gpg.environment sets.
NO_ROOM = ("No space left on device", "Disk quota exceeded")

_PREFIX = "larder-gpg"
_NAME = re.compile(rf"{_PREFIX}-(?P<process>\d+)-(?P<since>\d+)-\w+")

log = structlog.get_logger("larder.signing")


class HomesFull(StorageUnavailable):
    """There is no room for a home: an outage, and nothing that gpg says then is about a key or a signature."""

    def __init__(self) -> None:
        log.error("gpg_homes_full")
        super().__init__("The disk for gpg's temporary folders is full.", hint="Try again in a minute.")


@contextmanager
def home(*, private: bool = False) -> Iterator[Path]:
    """Yield a fresh home with mode 0700. Only a `private` one may contain secret keys and has an agent.

    Raises HomesFull, also for what the block writes there.
    """
    try:
        with _home(private=private) as path:
            yield path
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise HomesFull from error
        raise


@contextmanager
def _home(*, private: bool) -> Iterator[Path]:
    process = os.getpid()
    path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}-{process}-{_since(process)}-", dir=base()))
    try:
        if len(str(path)) > MAX_PATH_BYTES:
            raise RuntimeError(f"{path} is too long a path for gpg's agent")
        if private:
            (path / "gpg-agent.conf").write_text(AGENT)
        yield path
    finally:
        remove(path, private=private)


def require_room(said: str) -> None:
    """Raise HomesFull if gpg said that it could not write."""
    if any(sentence in said for sentence in NO_ROOM):
        raise HomesFull


def base() -> Path:
    """Return the folder for homes: a short path, in memory if possible."""
    if os.access(MEMORY, os.W_OK | os.X_OK):
        return MEMORY
    usual = Path(tempfile.gettempdir())
    return usual if len(str(usual)) < MAX_PATH_BYTES // 2 else Path("/tmp")  # noqa: S108  # mkdtemp keeps it private


def remove(path: Path, *, private: bool = True) -> None:
    """Stop the agent of a home, which has the secret key in memory, and delete the home."""
    if private:
        kill_agent(path)
    # A gpg whose worker was killed may still write into it: try again.
    for _ in range(3):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
    log.error("gpg_home_left", home=path.name)


def kill_agent(path: Path) -> None:
    commands = [["--kill", "all"]]
    if Path(f"/run/user/{os.getuid()}").is_dir():
        commands.append(["--remove-socketdir"])  # gpg keeps its sockets there, in a folder for each home
    for command in commands:
        try:
            subprocess.run(  # noqa: S603  # a list; fingerprints and paths are ours
                ["gpgconf", "--homedir", str(path), *command],  # noqa: S607  # the system's
                capture_output=True,
                check=False,
                timeout=10,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired):
            log.exception("gpg_agent_left", home=path.name)


def sweep() -> int:
    """Remove the homes of killed processes; return how many."""
    removed = 0
    for folder in {base(), Path(tempfile.gettempdir())}:
        for path in folder.glob(f"{_PREFIX}-*"):
            named = _NAME.fullmatch(path.name)
            try:
                mine = path.lstat().st_uid == os.getuid() and not path.is_symlink()
            except FileNotFoundError:
                continue
            if named and mine and _since(int(named["process"])) != int(named["since"]):
                log.warning("gpg_home_swept", home=path.name)
                remove(path)
                removed += 1
    return removed


def _since(process: int) -> int:
    """Return when the process started, in ticks of the kernel, since ids are reused; -1 if there is none."""
    stat = Path(f"/proc/{process}/stat")
    try:
        return int(stat.read_text().rpartition(")")[2].split()[19])
    except FileNotFoundError:
        pass
    except ProcessLookupError:
        return -1
    if Path("/proc/self/stat").exists():
        return -1
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return -1
    except PermissionError:
        pass
    return 0  # this system does not tell
