"""Throw-away homes for gpg: one for each use, in memory where there is such storage, gone afterwards (D12)."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

MEMORY = Path("/dev/shm")  # noqa: S108  # nothing of it ever reaches a disk
# gpg's agent listens on a socket in the home, and the path of a socket has 108 bytes on Linux.
MAX_PATH_BYTES = 86
AGENT = """\
disable-scdaemon
auto-expand-secmem 0x30000
max-cache-ttl 0
"""

_PREFIX = "larder-gpg"
_NAME = re.compile(rf"{_PREFIX}-(?P<process>\d+)-(?P<since>\d+)-\w+")

log = structlog.get_logger("larder.signing")


@contextmanager
def home(*, private: bool = False) -> Iterator[Path]:
    """A fresh home, for its owner alone. Only a `private` one may hold secret keys and has an agent."""
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


def base() -> Path:
    """Where homes are made; short, and in memory where there is such a place."""
    if os.access(MEMORY, os.W_OK | os.X_OK):
        return MEMORY
    usual = Path(tempfile.gettempdir())
    return usual if len(str(usual)) < MAX_PATH_BYTES // 2 else Path("/tmp")  # noqa: S108  # mkdtemp keeps it private


def remove(path: Path, *, private: bool = True) -> None:
    """End the agent of a home and delete it. The agent first: it would hold the secret key in its memory."""
    if private:
        kill_agent(path)
    # A gpg whose worker was killed may still be writing: another go finds what it wrote meanwhile.
    for _ in range(3):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
    log.error("gpg_home_left", home=path.name)


def kill_agent(path: Path) -> None:
    commands = [["--kill", "all"]]
    if Path(f"/run/user/{os.getuid()}").is_dir():
        commands.append(["--remove-socketdir"])  # gpg keeps the sockets there, in a folder for each home
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
    """Remove the homes of processes that are gone: whoever was killed could not. Answers how many there were."""
    removed = 0
    for folder in {base(), Path(tempfile.gettempdir())}:
        for path in folder.glob(f"{_PREFIX}-*"):
            if _is_left_behind(path):
                log.warning("gpg_home_swept", home=path.name)
                remove(path)
                removed += 1
    return removed


def _is_left_behind(path: Path) -> bool:
    named = _NAME.fullmatch(path.name)
    try:
        mine = path.lstat().st_uid == os.getuid() and not path.is_symlink()
    except FileNotFoundError:
        return False
    return named is not None and mine and _since(int(named["process"])) != int(named["since"])


def _since(process: int) -> int:
    """When the process began, in the kernel's ticks: numbers come again, in containers soon. -1: there is none."""
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
    return 0  # a system that does not say
