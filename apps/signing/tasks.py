from celery import shared_task

from apps.jobs.claims import task
from apps.signing import key_generation, vault

make_signing_key = task(key_generation.JOB, key_generation.run)


@shared_task(name="signing.report_kek")
def report_kek() -> None:
    vault.report()
