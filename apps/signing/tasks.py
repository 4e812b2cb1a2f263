from celery import shared_task

from apps.jobs import claims
from apps.signing import key_generation, vault


@shared_task(name=key_generation.JOB)
def make_signing_key(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            key_generation.run(claim)


@shared_task(name="signing.report_kek")
def report_kek() -> None:
    vault.report()
