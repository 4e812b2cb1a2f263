"""The memory of a whole process tree: proportional set sizes, so that shared pages count once."""

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
    total = 0
    for pid in descendants(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += next((int(text.split()[1]) for text in lines if text.startswith("Pss:")), 0)
    return total / 1024


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
