import time
from collections.abc import Callable
from typing import Any, cast

from celery import shared_task, signals
from django.utils import timezone

from apps.contrib.mirror import (
    docs,
    held_back,
    locking,
    pruning,
    runs,
    servable,
    storage,
    stored_sums,
    syncing,
    working,
)
from apps.jobs.claims import task
from apps.jobs.threads import Threads

# A process of a prefork worker ends after some tasks, in the midst of what its threads fetch.
LAST_SECONDS = 30.0
GIVE_BACK_SECONDS = 5.0
# A worker that is stopped: what is not done by then is taken up by another one, once the lease has ended.
STOP_SECONDS = 8.0


def _waking(kind: str, threads: Threads = working.threads) -> Callable[..., None]:
    """The Celery task of a kind of job: the doorbell of the threads, which look for all that waits."""

    @shared_task(name=kind, ignore_result=True)
    def wake(**_: object) -> None:
        threads.wake()

    return cast("Callable[..., None]", wake)


fetch_list, fetch_version, fetch_sizes = map(_waking, working.DOCUMENTS)
fetch_package = _waking(working.PACKAGE, working.package_threads)
read_docs = task(docs.JOB, docs.run)
lock_providers, sync_upstream = (_waking(kind, runs.threads) for kind in (locking.JOB, syncing.JOB))


@signals.worker_process_shutdown.connect
def finish(**_: Any) -> None:
    runs.threads.finish(GIVE_BACK_SECONDS)
    _finish_fetches(LAST_SECONDS)


@signals.worker_shutdown.connect
def stop(**_: Any) -> None:
    runs.threads.finish(GIVE_BACK_SECONDS)
    _finish_fetches(STOP_SECONDS)


def _finish_fetches(seconds: float) -> None:
    """Start nothing more of either, then wait once for both."""
    until, both = time.monotonic() + seconds, (working.threads, working.package_threads)
    for threads in both:
        threads.finish(0)
    for threads in both:
        threads.finish(max(0.0, until - time.monotonic()))


@shared_task(name="upstream.prune", ignore_result=True)
def prune(**_: object) -> None:
    pruning.prune_unknown()
    held_back.prune()
    locking.prune()
    syncing.prune()
    stored_sums.drop_docs()
    stored_sums.recount()


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
    servable.forget_lost()
