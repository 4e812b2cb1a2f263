"""Pools of threads that know how many of them are busy, for /metrics.

A web process has a lane for people and one for machines, so that no crowd of machines keeps people waiting.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from apps.lib.process import outside
from registry_site.backends.database import leave_some_connections

# Those of this process, by name.
pools: dict[str, "CountedThreads"] = {}


class CountedThreads(ThreadPoolExecutor):
    """`pending`: the works that run or wait for a thread. `is_for_machines`: it leaves connections to the others.

    At most `most_outside` of its threads wait for other services at a time.
    """

    def __init__(self, size: int, name: str, *, most_outside: int = 0, is_for_machines: bool = False) -> None:
        self.places = outside.Places(most_outside) if most_outside else None
        self._is_for_machines = is_for_machines
        super().__init__(size, thread_name_prefix=name, initializer=self._begin)
        self.size, self.pending = size, 0
        self._counting = threading.Lock()
        pools[name] = self

    def _begin(self) -> None:
        if self.places is not None:
            outside.limit_thread(self.places)
        if self._is_for_machines:
            leave_some_connections()

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
