import structlog
from celery import shared_task
from django.utils import timezone

from apps.blobs import store
from apps.blobs.care import scrub as scrubbing

log = structlog.get_logger("larder.blobs")


@shared_task(name="blobs.sweep", ignore_result=True)
def sweep(**_: object) -> None:
    if swept := store.sweep(now=timezone.now()):
        log.info("staging_swept", objects=swept)


@shared_task(name="blobs.scrub", ignore_result=True)
def scrub(**_: object) -> None:
    scrubbing.scrub(now=timezone.now())


@shared_task(name="blobs.recheck", ignore_result=True)
def recheck(**_: object) -> None:
    scrubbing.recheck(now=timezone.now())
