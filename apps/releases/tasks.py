from celery import shared_task

from apps.jobs import claims
from apps.releases.lifecycle import purging, verification
from apps.releases.publishing import sweeping


@shared_task(name="releases.sweep")
def sweep(**_: object) -> None:
    sweeping.sweep()


@shared_task(name=purging.JOB)
def purge_blob(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            purging.run(claim)


@shared_task(name=verification.JOB)
def verify_release(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            verification.run(claim)
