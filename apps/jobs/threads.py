"""Work that waits for others, such as receivers and registries, in threads of a worker.

One that hangs blocks neither the worker's slots nor the rest. A ring only wakes the threads up; they look for all that
waits.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from threading import Event, Lock, Thread
from typing import cast

import structlog
from celery import shared_task
from django.db import connection
from django.db.models import Min

from apps.jobs import claims, database_availability
from apps.jobs.claims import Claim
from apps.jobs.models import Job

log = structlog.get_logger("larder.jobs")


class Threads:
    """The threads of this process for one kind of work.

    `waiting` returns what may begin, in its order: a number, which no two threads work on, and a group. At most
    `most` threads run at once, and `share` of them for one group, so that others get theirs. With `goes_on` a thread
    that ends looks again for what found no thread before. `run` claims what it works on: another process may be at it.
    """

    def __init__(
        self,
        name: str,
        waiting: Callable[[], Iterable[tuple[int, Hashable]]],
        run: Callable[[int], object],
        *,
        most: int,
        share: Callable[[], int] | None = None,
        goes_on: bool = False,
    ) -> None:
        self._name, self._waiting, self._run = name, waiting, run
        self._most, self._share, self._goes_on = most, share or (lambda: most), goes_on
        self._busy: dict[int, Hashable] = {}  # the group by the number
        self._lock = Lock()
        self._ending = Event()

    def wake(self) -> None:
        """Start what waits, as far as there are threads for it."""
        for number, group in self._waiting():
            with self._lock:
                busy = list(self._busy.values())
                if self._ending.is_set() or len(busy) >= self._most:
                    return
                if number in self._busy or busy.count(group) >= self._share_of(group):
                    continue
                self._busy[number] = group
            Thread(target=self._work, args=(number,), name=f"{self._name}-{number}", daemon=True).start()

    def _share_of(self, _group: Hashable) -> int:
        return self._share()

    def busy(self) -> int:
        with self._lock:
            return len(self._busy)

    def doorbell(self, kind: str) -> Callable[..., None]:
        """The Celery task of a kind of job, which only wakes these threads up."""

        @shared_task(name=kind, ignore_result=True)
        def wake(**_: object) -> None:
            self.wake()

        return cast("Callable[..., None]", wake)

    def is_ending(self) -> bool:
        """For work of minutes, which then stops and leaves the rest to another process."""
        return self._ending.is_set()

    def finish(self, seconds: float) -> None:
        """Start nothing more, and wait for what runs. What takes longer is taken up by another worker."""
        self._ending.set()
        end = time.monotonic() + seconds
        while self.busy() and time.monotonic() < end:
            time.sleep(0.1)

    def _work(self, number: int) -> None:
        try:
            self._try(self._run, number)
        finally:
            with self._lock:
                del self._busy[number]
            if self._goes_on:
                self._try(lambda _: self.wake(), number)
            connection.close()  # this thread's own

    def _try(self, act: Callable[[int], object], number: int) -> None:
        try:
            act(number)
        except database_availability.AWAY as error:
            log.warning("thread_waits", what=self._name, number=number, error=type(error).__name__)
        except Exception:
            log.exception("thread_failed", what=self._name, number=number)


def finish_all(seconds: float, *groups: Threads) -> None:
    """Start nothing more of any, then wait once for all."""
    end = time.monotonic() + seconds
    for group in groups:
        group.finish(0)
    for group in groups:
        group.finish(end - time.monotonic())


class JobThreads(Threads):
    """Threads that claim the jobs of some kinds, and do them: `works` by kind, with what tells that the process ends.

    When it does, its jobs are given back: another worker continues from what they have recorded. `share` threads at
    most are for one kind, and a quarter for its jobs in bulk, which keep none from its turn.
    """

    def __init__(
        self,
        name: str,
        works: Mapping[str, Callable[[Claim, Callable[[], bool]], object]],
        *,
        most: int,
        share: int,
        goes_on: bool = False,
    ) -> None:
        self._works = works
        super().__init__(name, self._claimable, self.run_here, most=most, share=lambda: share, goes_on=goes_on)

    def run_here(self, job_id: int) -> bool:
        """Do it in this thread; False if another worker has it."""
        with claims.claim(job_id) as held:
            if held is not None:
                self._works[held.kind](held, self.is_ending)
            return held is not None

    def _share_of(self, group: Hashable) -> int:
        in_bulk = isinstance(group, tuple) and group[1]
        return max(1, self._share() // 4) if in_bulk else self._share()

    def _claimable(self) -> Iterable[tuple[int, Hashable]]:
        # Each kind by itself: hundreds of older jobs of one must not hide those of another.
        for kind in self._works:
            jobs = Job.objects.claimable().rung().filter(kind=kind).in_turn()
            for number, source in jobs.values_list("pk", "source")[: 4 * self._share()]:
                yield number, (kind, bool(source))


class AccountThreads(JobThreads):
    """One thread for the jobs of one account, the oldest first: one account keeps no others from their turn."""

    def __init__(
        self, name: str, works: Mapping[str, Callable[[Claim, Callable[[], bool]], object]], *, most: int
    ) -> None:
        super().__init__(name, works, most=most, share=1, goes_on=True)

    def _claimable(self) -> Iterable[tuple[int, Hashable]]:
        jobs = Job.objects.claimable().filter(kind__in=self._works)
        oldest = jobs.values("created_by_id").annotate(first=Min("pk")).order_by("first")
        yield from oldest.values_list("first", "created_by_id")[: 4 * self._most]
