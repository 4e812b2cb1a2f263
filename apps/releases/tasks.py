from celery import shared_task

from apps.jobs.claims import task
from apps.releases.catalogue import indexing, showing
from apps.releases.lifecycle import purging, verification
from apps.releases.publishing import sweeping

INDEXED_AT_ONCE = 10  # batches in a run


@shared_task(name="releases.sweep")
def sweep(**_: object) -> None:
    sweeping.sweep()


@shared_task(name="releases.index_search")
def index_search(**_: object) -> None:
    """Index what an older Larder published, in steps that leave time for other work."""
    for _step in range(INDEXED_AT_ONCE):
        if not indexing.rebuild_outdated():
            return


@shared_task(name="releases.show_due")
def show_due(**_: object) -> None:
    showing.show_due()


purge_blob = task(purging.JOB, purging.run)
verify_release = task(verification.JOB, verification.run)
