from celery import shared_task

from apps.jobs.claims import task
from apps.modules import publishing, reinspection
from apps.modules.dependents import configurations

publish_module = task(publishing.JOB, publishing.run)
inspect_module = task(reinspection.JOB, reinspection.run)


@shared_task(name="modules.prune_configurations")
def prune_configurations(**_: object) -> None:
    configurations.prune()
