from celery import shared_task

from apps.jobs import claims
from apps.providers import lifecycle, publishing
from apps.providers.docs import replacing
from apps.providers.signatures import requests, resigning


@shared_task(name=publishing.JOB)
def publish_provider(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            publishing.run(claim)


@shared_task(name=requests.JOB)
def sign_release(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            requests.run(claim)


@shared_task(name=requests.FORMER_JOB)
def refuse_former_request(*, job_id: int, **_: object) -> None:
    sign_release(job_id=job_id)


@shared_task(name=resigning.JOB)
def resign_provider(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            resigning.run(claim)


@shared_task(name=lifecycle.VERIFY_JOB)
def verify_provider(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            lifecycle.verify_again(claim)


@shared_task(name=replacing.JOB)
def read_provider_docs(*, job_id: int, **_: object) -> None:
    with claims.claim(job_id) as claim:
        if claim is not None:
            replacing.run(claim)
