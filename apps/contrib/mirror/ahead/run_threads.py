"""The threads of lock and sync runs, which coordinate fetches for minutes."""

from apps.contrib.mirror.ahead import locking, syncing
from apps.jobs.threads import JobThreads

WORKS = {locking.JOB: locking.work, syncing.JOB: syncing.work}
THREADS = 8  # of each kind

threads = JobThreads("run", WORKS, most=len(WORKS) * THREADS, share=THREADS)
run_here = threads.run_here
