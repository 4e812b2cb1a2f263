from celery import shared_task

from apps.oci import collecting


@shared_task(name="oci.collect")
def collect(**_: object) -> None:
    collecting.collect()
