from celery import shared_task

from apps.artifacts import gc


@shared_task(name="oci.collect")
def collect(**_: object) -> None:
    gc.collect()
