"""Memory (proportional set sizes, so that shared pages count once) and processor time of a whole process tree."""

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self


def descendants(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(status.parent.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += parents.get(pid, [])
    return found


def pss(root: int) -> float:
    """Summed PSS of the tree, in MB."""
    return sum(pss_of(pid) for pid in descendants(root))


def rss(root: int) -> float:
    """Summed RSS of the tree, in MB: shared pages count once for each process."""
    return sum(rss_of(pid) for pid in descendants(root))


def rss_of(pid: int) -> float:
    return _memory(pid, "Rss:")


def pss_of(pid: int) -> float:
    return _memory(pid, "Pss:")


def written_alone(pid: int) -> float:
    """Return the memory that the process wrote and shares with no other, in MB."""
    return _memory(pid, "Private_Dirty:")


def _memory(pid: int, field: str) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(text.split()[1]) for text in lines if text.startswith(field)), 0) / 1024


def cpu_seconds(root: int) -> float:
    """Processor time that the living processes of the tree have used."""
    return sum(cpu_seconds_of(pid) for pid in descendants(root))


def cpu_seconds_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Peak:
    """The highest PSS of a tree while a block runs, sampled twenty times a second."""

    def __init__(self, root: int) -> None:
        self.root = root
        self.peak = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._done.is_set():
            self.peak = max(self.peak, pss(self.root))
            time.sleep(0.05)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
