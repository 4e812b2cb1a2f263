from celery import shared_task

from apps.jobs.claims import task
from apps.jobs.targets import Source
from apps.modules import publishing, reinspection
from apps.modules.dependents import configurations
from apps.modules.models import ModuleVersion
from apps.releases.targets import RELEASES, by_address

publish_module = task(publishing.JOB, publishing.run)
inspect_module = task(reinspection.JOB, reinspection.run)
TARGETS = {
    publishing.JOB: RELEASES,
    reinspection.JOB: Source(
        ModuleVersion.objects.select_related("release__namespace").without_texts().all,
        lambda word: by_address(word, "release__"),
    ),
}


@shared_task(name="modules.prune_configurations")
def prune_configurations(**_: object) -> None:
    configurations.prune()
