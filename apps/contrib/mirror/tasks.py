from typing import Any

from celery import shared_task, signals
from django.utils import timezone

from apps.contrib.mirror import stored_sums, traffic
from apps.contrib.mirror.ahead import locking, run_threads, syncing
from apps.contrib.mirror.asking import checking
from apps.contrib.mirror.policy import held_back
from apps.contrib.mirror.records import lists, storage
from apps.contrib.mirror.serving import docs, fetch_jobs
from apps.jobs.claims import task
from apps.jobs.threads import finish_all

# A process of a prefork worker ends after some tasks, in the midst of what its threads fetch.
LAST_SECONDS = 30.0
GIVE_BACK_SECONDS = 5.0
# A worker that is stopped: what is not done by then is taken up by another one, once the lease has ended.
STOP_SECONDS = 8.0


fetch_list, fetch_version, fetch_sizes = map(fetch_jobs.threads.doorbell, fetch_jobs.DOCUMENTS)
fetch_package = fetch_jobs.package_threads.doorbell(fetch_jobs.PACKAGE)
read_docs = task(docs.JOB, docs.run)
check_upstream = task(checking.JOB, checking.run)
lock_providers, sync_upstream = map(run_threads.threads.doorbell, (locking.JOB, syncing.JOB))


@signals.worker_process_shutdown.connect
def finish(**_: Any) -> None:
    run_threads.threads.finish(GIVE_BACK_SECONDS)
    finish_all(LAST_SECONDS, fetch_jobs.threads, fetch_jobs.package_threads)


@signals.worker_shutdown.connect
def stop(**_: Any) -> None:
    run_threads.threads.finish(GIVE_BACK_SECONDS)
    finish_all(STOP_SECONDS, fetch_jobs.threads, fetch_jobs.package_threads)


@shared_task(name="upstream.prune", ignore_result=True)
def prune(**_: object) -> None:
    lists.prune_unknown()
    held_back.prune()
    locking.prune()
    syncing.prune()
    stored_sums.drop_docs()
    stored_sums.recount()
    traffic.prune()


@shared_task(name="upstream.sync_due", ignore_result=True)
def sync_due(**_: object) -> None:
    syncing.start_due(now=timezone.now())


@shared_task(name="upstream.read_docs", ignore_result=True)
def read_unread_docs(**_: object) -> None:
    docs.request_unread()


@shared_task(name="upstream.evict", ignore_result=True)
def evict(**_: object) -> None:
    storage.evict(now=timezone.now())


@shared_task(name="upstream.forget_lost", ignore_result=True)
def forget_lost(**_: object) -> None:
    storage.forget_lost()
