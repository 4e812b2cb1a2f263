"""Threads for runs, which coordinate fetches for minutes: a slot of the worker is free again at once.

A run is claimed in its thread, with a lease and a fence. When the process ends, its runs are given back: another worker
goes on with what they have recorded.
"""

from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread

import structlog
from django.db import connection

from apps.jobs import claims, database_availability
from apps.jobs.claims import Claim
from apps.jobs.models import Job

THREADS = 8  # of each kind

log = structlog.get_logger("larder.upstream")

Work = Callable[[Claim, Callable[[], bool]], None]


class RunThreads:
    def __init__(self, works: Mapping[str, Work]) -> None:
        self._works = works
        self._busy: dict[int, tuple[str, Thread]] = {}
        self._lock = Lock()
        self._is_ending = Event()

    def wake(self) -> None:
        """Start what waits, the oldest first."""
        jobs = Job.objects.claimable().filter(kind__in=self._works).order_by("pk")
        for job_id, kind in jobs.values_list("pk", "kind")[: 4 * THREADS]:
            with self._lock:
                alike = sum(one == kind for one, _ in self._busy.values())
                if job_id in self._busy or alike >= THREADS or self._is_ending.is_set():
                    continue
                thread = Thread(target=self._run, args=(job_id, kind), name=f"run-{job_id}", daemon=True)
                self._busy[job_id] = (kind, thread)
            thread.start()

    def finish(self, seconds: float) -> None:
        """Have all runs given back, and wait for that."""
        self._is_ending.set()
        with self._lock:
            threads = [thread for _, thread in self._busy.values()]
        for thread in threads:
            thread.join(seconds)

    def run_here(self, job_id: int, kind: str) -> bool:
        """Do it in this thread; False if another worker has it."""
        with claims.claim(job_id) as held:
            if held is not None:
                self._works[kind](held, self._is_ending.is_set)
            return held is not None

    def _run(self, job_id: int, kind: str) -> None:
        try:
            self.run_here(job_id, kind)
        except database_availability.AWAY as error:
            log.warning("run_waits", job=job_id, error=type(error).__name__)
        except Exception:
            log.exception("run_thread_failed", job=job_id)
        finally:
            with self._lock:
                del self._busy[job_id]
            connection.close()  # this thread's own
