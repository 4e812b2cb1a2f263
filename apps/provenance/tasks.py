from celery import shared_task

from apps.jobs.claims import task
from apps.provenance import statements
from apps.releases.targets import RELEASES

state_release = task(statements.JOB, statements.run)
TARGETS = {statements.JOB: RELEASES}


@shared_task(name="provenance.sweep")
def sweep(**_: object) -> None:
    statements.sweep()
