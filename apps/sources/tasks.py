from collections.abc import Callable
from typing import Any, cast

from celery import shared_task, signals
from django.utils import timezone

from apps.jobs.threads import JobThreads
from apps.sources import hooks, previewing, publishing, queueing, syncing

# A worker that is stopped: what is not done by then is taken up by another one, once the lease has ended.
STOP_SECONDS = 8.0
THREADS = 4
WORKS = {syncing.JOB: syncing.work, previewing.JOB: previewing.work, publishing.JOB: publishing.work}


threads = JobThreads("git", WORKS, most=2 * THREADS, share=THREADS, goes_on=True)
run_here = threads.run_here


def _waking(kind: str) -> Callable[..., None]:
    """The Celery task of a kind of job: the doorbell of the threads, which look for all that waits."""

    @shared_task(name=kind, ignore_result=True)
    def wake(**_: object) -> None:
        threads.wake()

    return cast("Callable[..., None]", wake)


list_tags, preview, publish_tag = (_waking(kind) for kind in (syncing.JOB, previewing.JOB, publishing.JOB))


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def finish(**_: Any) -> None:
    threads.finish(STOP_SECONDS)


@shared_task(name="sources.poll_due", ignore_result=True)
def poll_due(**_: object) -> None:
    """List the repositories whose time has come, and queue what a worker that died left behind."""
    syncing.list_due(timezone.now())
    queueing.queue_forgotten()


@shared_task(name="sources.prune", ignore_result=True)
def prune(**_: object) -> None:
    """Forget deliveries that can no longer be replayed."""
    hooks.prune()
