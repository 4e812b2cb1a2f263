from django.apps import AppConfig


class ModulesConfig(AppConfig):
    name = "apps.modules"

    def ready(self) -> None:
        from apps.jobs.targets import Source, register
        from apps.modules import lifecycle, publishing, reinspecting
        from apps.modules.models import ModuleVersion
        from apps.releases import rebuilding
        from apps.releases.job_targets import RELEASES, by_address
        from apps.releases.models import Kind

        versions = ModuleVersion.objects.select_related("release__namespace").without_texts()
        register(RELEASES, publishing.JOB)
        register(Source(versions.all, lambda word: by_address(word, "release__")), reinspecting.JOB)
        rebuilding.register(Kind.MODULE, lifecycle.ACTS.refresh)
