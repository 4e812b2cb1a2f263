from celery import shared_task

from apps.jobs import claims
from apps.releases.catalogue import indexing
from apps.releases.cleanup import applying
from apps.releases.lifecycle import purging, verification
from apps.releases.publishing import sweeping

INDEXED_AT_ONCE = 10  # batches in a run


@shared_task(name="releases.sweep")
def sweep(**_: object) -> None:
    sweeping.sweep()


@shared_task(name="releases.clean_up")
def clean_up(**_: object) -> None:
    applying.run_due()


@shared_task(name="releases.index_search")
def index_search(**_: object) -> None:
    """Index what an older Larder published, in steps that leave time for other work."""
    for _step in range(INDEXED_AT_ONCE):
        if not indexing.rebuild_outdated():
            return


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
