from celery import shared_task

from apps.jobs import claims
from apps.providers import publishing, resigning, reverifying


@shared_task(name=publishing.JOB)
def publish_provider(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            publishing.run(claim)


@shared_task(name=resigning.JOB)
def resign_provider(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            resigning.run(claim)


@shared_task(name=reverifying.JOB)
def verify_provider(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            reverifying.run(claim)
