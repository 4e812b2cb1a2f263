from celery import shared_task

from apps.jobs import pruning, queue


@shared_task(name="jobs.reap", ignore_result=True)
def reap(**_: object) -> None:
    queue.reap()


@shared_task(name="jobs.heartbeat", ignore_result=True)
def heartbeat(**_: object) -> None:
    """Do nothing: beat of a former version asks for it, and workers now report without being asked."""


@shared_task(name="jobs.prune", ignore_result=True)
def prune(**_: object) -> None:
    pruning.prune_jobs()
