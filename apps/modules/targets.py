"""Releases of modules, and their versions, as targets of jobs."""

from apps.jobs.targets import Source
from apps.modules import publishing, reinspection
from apps.modules.models import ModuleVersion
from apps.releases.targets import RELEASES, by_address

SOURCES = {
    publishing.JOB: RELEASES,
    reinspection.JOB: Source(
        ModuleVersion.objects.select_related("release__namespace").without_texts().all,
        lambda word: by_address(word, "release__"),
    ),
}
