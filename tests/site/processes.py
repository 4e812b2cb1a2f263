"""Looking at processes through /proc."""

import time
from collections.abc import Callable
from pathlib import Path


def parents() -> dict[int, int]:
    """The parent of every process that is not just a zombie waiting to be collected."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # "pid (name) state ppid …"; the name may hold spaces and brackets.
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                found[int(entry.name)] = int(parent)
    return found


def descendants(pid: int) -> set[int]:
    everyone = parents()
    found: set[int] = set()
    ring = {pid}
    while ring:
        ring = {child for child, parent in everyone.items() if parent in ring}
        found |= ring
    return found


def child(pid: int, command: str) -> int | None:
    """The direct child that runs `manage.py <command>`."""
    return next(iter(children(pid, command)), None)


def children(pid: int, command: str) -> list[int]:
    """Forks of `manage.py up` have names of their own, other processes a command line."""
    ours = [one for one, parent in parents().items() if parent == pid]
    return [one for one in ours if name_of(one) == f"larder-{command}" or words_of(one)[1:3] == ["manage.py", command]]


def words_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def eventually(condition: Callable[[], object], seconds: float = 60, *, what: str = "it") -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in time"
        time.sleep(0.1)
