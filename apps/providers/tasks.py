from celery import shared_task

from apps.jobs import claims
from apps.providers import publishing


@shared_task(name=publishing.JOB)
def publish_provider(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            publishing.run(claim)
