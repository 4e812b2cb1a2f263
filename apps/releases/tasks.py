from celery import shared_task

from apps.releases import sweeping


@shared_task(name="releases.sweep")
def sweep(**_: object) -> None:
    sweeping.sweep()
