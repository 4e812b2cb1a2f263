"""Processes, those of checks among them, as /proc shows them."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def children(parent: int | None = None) -> list[int]:
    """The processes forked for checks of the parent (by default this one) that are still there."""
    return [child for server in servers(parent) for child in processes_of(server)]


def servers(parent: int | None = None) -> list[int]:
    """Its fork servers."""
    return [child for child in processes_of(parent or os.getpid()) if b"fork_server" in command_of(child)]


def processes_of(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def command_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def commands() -> list[str]:
    """The command lines of all processes, with blanks between their words. One that ends meanwhile has none."""
    found = (command_of(int(path.name)) for path in Path("/proc").glob("[0-9]*"))
    return [command.replace(b"\0", b" ").decode(errors="replace") for command in found]


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan is reaped by whoever is process 1 here, perhaps late: a zombie is as dead as it gets.
    return state_of(pid) != "Z"


def wait_for(condition: Callable[[], T | None], seconds: float = 30) -> T:
    """Waits for a true value of the condition. Fails after the seconds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found
