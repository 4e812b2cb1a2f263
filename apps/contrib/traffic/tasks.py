from celery import shared_task

from apps.contrib.traffic import recording


@shared_task(name="traffic.prune", ignore_result=True)
def prune(**_: object) -> None:
    recording.prune()
