import time
from collections.abc import Callable
from typing import Any, cast

from celery import shared_task, signals
from django.utils import timezone

from apps.jobs.threads import AccountThreads, JobThreads
from apps.sources import hooks, host_scanning, previewing, publishing, queueing, syncing

# A worker that is stopped: what is not done by then is taken up by another one, once the lease has ended.
STOP_SECONDS = 8.0
THREADS = 4
FETCHES = {syncing.JOB: syncing.work, previewing.JOB: previewing.work, publishing.JOB: publishing.work}
SCANS = {host_scanning.JOB: host_scanning.work}
WORKS = FETCHES | SCANS

threads = JobThreads("git", FETCHES, most=2 * THREADS, share=THREADS, goes_on=True)
# People wait for these on a page, and a server that says nothing takes all the time that there is.
scans = AccountThreads("git-scan", SCANS, most=THREADS)


run_here = threads.run_here


def threads_of(kind: str) -> JobThreads:
    return scans if kind in SCANS else threads


def _waking(kind: str) -> Callable[..., None]:
    """The Celery task of a kind of job: the doorbell of the threads, which look for all that waits."""

    @shared_task(name=kind, ignore_result=True)
    def wake(**_: object) -> None:
        threads_of(kind).wake()

    return cast("Callable[..., None]", wake)


list_tags, preview, publish_tag, scan_host_keys = map(_waking, WORKS)


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def finish(**_: Any) -> None:
    end = time.monotonic() + STOP_SECONDS
    for one in (scans, threads):
        one.finish(0)  # neither starts anything more
    for one in (scans, threads):
        one.finish(end - time.monotonic())


@shared_task(name="sources.poll_due", ignore_result=True)
def poll_due(**_: object) -> None:
    """List the repositories whose time has come, and queue what a worker that died left behind."""
    syncing.list_due(timezone.now())
    queueing.queue_forgotten()


@shared_task(name="sources.prune", ignore_result=True)
def prune(**_: object) -> None:
    """Forget deliveries that can no longer be replayed."""
    hooks.prune()
