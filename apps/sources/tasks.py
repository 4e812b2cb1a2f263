from collections.abc import Callable, Iterable
from typing import Any, cast

from celery import shared_task, signals
from django.utils import timezone

from apps.jobs import claims
from apps.jobs.models import Job
from apps.jobs.threads import Threads
from apps.sources import hooks, previewing, publishing, queueing, syncing

# A worker that is stopped: what is not done by then is taken up by another one, once the lease has ended.
STOP_SECONDS = 8.0
THREADS = 4
WORKS = {syncing.JOB: syncing.work, previewing.JOB: previewing.work, publishing.JOB: publishing.work}


def run_here(job_id: int) -> bool:
    """Do it in this thread; False if another worker has it."""
    with claims.claim(job_id) as held:
        if held is not None:
            WORKS[held.kind](held, threads.is_ending)
        return held is not None


def _waiting() -> Iterable[tuple[int, str]]:
    jobs = Job.objects.claimable().filter(kind__in=WORKS).order_by("pk")
    return jobs.values_list("pk", "kind")[: 8 * THREADS]


threads = Threads("git", _waiting, run_here, most=2 * THREADS, share=lambda: THREADS, goes_on=True)


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
