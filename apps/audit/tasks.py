from celery import shared_task

from apps.audit import pruning


@shared_task(name="audit.prune", ignore_result=True)
def prune(**_: object) -> None:
    pruning.prune()
