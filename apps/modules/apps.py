from django.apps import AppConfig


class ModulesConfig(AppConfig):
    name = "apps.modules"

    def ready(self) -> None:
        from apps.jobs.targets import Source, register
        from apps.modules import lifecycle, publishing
        from apps.modules.contents import reinspection
        from apps.modules.models import ModuleVersion
        from apps.releases.catalogue import rebuilding
        from apps.releases.models import Kind
        from apps.releases.publishing.job_targets import RELEASES, by_address

        versions = ModuleVersion.objects.select_related("release__namespace").without_texts()
        register(RELEASES, publishing.JOB)
        register(Source(versions.all, lambda word: by_address(word, "release__")), reinspection.JOB)
        rebuilding.register(Kind.MODULE, lifecycle.ACTS.refresh)
