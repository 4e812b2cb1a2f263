from celery import shared_task

from apps.jobs import heartbeats, pruning, queue
from apps.jobs.claims import worker_name


@shared_task(name="jobs.reap", ignore_result=True)
def reap(**_: object) -> None:
    queue.reap()


@shared_task(name="jobs.heartbeat", ignore_result=True)
def heartbeat(**_: object) -> None:
    heartbeats.beat(worker_name())


@shared_task(name="jobs.prune", ignore_result=True)
def prune(**_: object) -> None:
    pruning.prune_jobs()
