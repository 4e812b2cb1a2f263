from celery import shared_task

from apps.jobs.claims import task
from apps.signing import key_generation, statement_keys, vault

make_signing_key = task(key_generation.JOB, key_generation.run)
make_statement_key = task(statement_keys.JOB, statement_keys.run)


@shared_task(name="signing.report_kek")
def report_kek() -> None:
    vault.report()
