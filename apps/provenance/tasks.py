from celery import shared_task

from apps.jobs.claims import task
from apps.provenance import statements

state_release = task(statements.JOB, statements.run)


@shared_task(name="provenance.sweep")
def sweep(**_: object) -> None:
    statements.sweep()
