"""Pools of threads that know how many of them are busy, for /metrics."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

# Those of this process, by name.
pools: dict[str, "CountedThreads"] = {}


class CountedThreads(ThreadPoolExecutor):
    """`pending`: the works that run or wait for a thread."""

    def __init__(self, size: int, name: str) -> None:
        super().__init__(size, thread_name_prefix=name)
        self.size, self.pending = size, 0
        self._counting = threading.Lock()
        pools[name] = self

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        self._add(1)
        try:
            future = super().submit(work, *arguments, **more)
        except RuntimeError:  # the process ends
            self._add(-1)
            raise
        future.add_done_callback(lambda _: self._add(-1))
        return future

    def _add(self, number: int) -> None:
        with self._counting:
            self.pending += number

    def figures(self) -> dict[str, int]:
        busy = min(self.pending, self.size)
        return {"busy": busy, "idle": self.size - busy, "waiting": self.pending - busy}
