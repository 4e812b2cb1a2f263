from celery import shared_task

from apps.contrib.copy import signing
from apps.contrib.copy.writing import following, writer
from apps.jobs.claims import task

follow = task(following.JOB, following.run)
sign = task(writer.SIGN, signing.run)


@shared_task(name="copy.tick", ignore_result=True)
def tick(**_: object) -> None:
    """Begin a copy that is new, and ring for changes whose ring was lost."""
    following.tick()
