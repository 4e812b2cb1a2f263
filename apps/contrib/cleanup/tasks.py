from celery import shared_task

from apps.contrib.cleanup import applying


# Of the name that it has in the schedules and queues of older releases.
@shared_task(name="releases.clean_up")
def clean_up(**_: object) -> None:
    applying.run_due()
