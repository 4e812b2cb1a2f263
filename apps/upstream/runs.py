"""The threads of lock and sync runs, which coordinate fetches for minutes.

A run is claimed in its thread, with a lease and a fence. When the process ends, its runs are given back: another worker
goes on with what they have recorded.
"""

from collections.abc import Iterable

from apps.jobs import claims
from apps.jobs.models import Job
from apps.jobs.threads import Threads
from apps.upstream import locking, syncing

WORKS = {locking.JOB: locking.work, syncing.JOB: syncing.work}
THREADS = 8  # of each kind


def run_here(job_id: int) -> bool:
    """Do it in this thread; False if another worker has it."""
    with claims.claim(job_id) as held:
        if held is not None:
            WORKS[held.kind](held, threads.is_ending)
        return held is not None


def _waiting() -> Iterable[tuple[int, str]]:
    jobs = Job.objects.claimable().filter(kind__in=WORKS).order_by("pk")
    return jobs.values_list("pk", "kind")[: 4 * THREADS]


threads = Threads("run", _waiting, run_here, most=len(WORKS) * THREADS, share=lambda: THREADS)
