from celery import shared_task

from apps.jobs import claims
from apps.modules import publishing, reinspection
from apps.modules.dependents import configurations


@shared_task(name=publishing.JOB)
def publish_module(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            publishing.run(claim)


@shared_task(name=reinspection.JOB)
def inspect_module(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            reinspection.run(claim)


@shared_task(name="modules.prune_configurations")
def prune_configurations(**_: object) -> None:
    configurations.prune()
