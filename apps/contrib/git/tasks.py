from typing import Any

from celery import shared_task, signals
from django.utils import timezone

from apps.contrib.git import hooks, host_scanning, previewing, publishing, queueing, syncing
from apps.jobs.models import Job
from apps.jobs.threads import AccountThreads, JobThreads, finish_all

# A worker that is stopped: what is not done by then is taken up by another one, once the lease has ended.
STOP_SECONDS = 8.0
THREADS = 4
# Nobody waits for these, and there may be thousands.
IN_BULK = {syncing.JOB: syncing.work, publishing.JOB: publishing.work}
# A person waits for these on a page. A server that says nothing takes all the time that there is.
FOR_PEOPLE = {previewing.JOB: previewing.work, host_scanning.JOB: host_scanning.work}
WORKS = IN_BULK | FOR_PEOPLE

in_bulk = JobThreads("git", IN_BULK, most=2 * THREADS, share=THREADS, goes_on=True)
for_people = AccountThreads("git-people", FOR_PEOPLE, most=THREADS)


def threads_of(kind: str) -> JobThreads:
    return for_people if kind in FOR_PEOPLE else in_bulk


def run_here(job_id: int) -> bool:
    """Do it in this thread; False if another worker has it."""
    return threads_of(Job.objects.values_list("kind", flat=True).get(pk=job_id)).run_here(job_id)


list_tags, publish_tag = map(in_bulk.doorbell, IN_BULK)
preview, scan_host_keys = map(for_people.doorbell, FOR_PEOPLE)


@signals.worker_process_shutdown.connect
@signals.worker_shutdown.connect
def finish(**_: Any) -> None:
    finish_all(STOP_SECONDS, for_people, in_bulk)


@shared_task(name="sources.poll_due", ignore_result=True)
def poll_due(**_: object) -> None:
    """List the repositories whose time has come, and queue what a worker that died left behind."""
    syncing.list_due(timezone.now())
    queueing.queue_forgotten()


@shared_task(name="sources.prune", ignore_result=True)
def prune(**_: object) -> None:
    """Forget deliveries that can no longer be replayed."""
    hooks.prune()
