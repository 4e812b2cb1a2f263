from celery import shared_task
from django.utils import timezone

from apps.upstream import servable, storage


@shared_task(name="upstream.evict", ignore_result=True)
def evict(**_: object) -> None:
    storage.evict(now=timezone.now())


@shared_task(name="upstream.forget_lost", ignore_result=True)
def forget_lost(**_: object) -> None:
    servable.forget_lost()
