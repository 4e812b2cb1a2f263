"""Calls a function for many items in several threads: for work that waits for disks, networks and child processes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
THREADS = 8
AHEAD = 8  # calls that wait for each thread: results are few however many items there are
TOGETHER = 8  # items of one call, if there are many: to hand one over takes as long as to open a small file


def each(act: Callable[[T], R], items: Iterable[T], *, threads: int = THREADS) -> Iterator[R]:
    """Yield the results in the order of the items. What `act` raises is raised, and ends the rest.

    `act` may not use the database: its thread would leave a connection open.
    """
    waiting: deque[Future[list[R]]] = deque()
    left, calls = iter(items), 0
    with ThreadPoolExecutor(threads, thread_name_prefix="parallel") as pool:
        try:
            while some := list(islice(left, 1 if calls < threads * AHEAD else TOGETHER)):
                calls += 1
                waiting.append(pool.submit(_all, act, some))
                if len(waiting) >= threads * AHEAD:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _all(act: Callable[[T], R], items: list[T]) -> list[R]:
    return [act(item) for item in items]
