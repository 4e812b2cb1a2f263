from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "apps.providers"

    def ready(self) -> None:
        from apps.jobs.targets import Source, register
        from apps.providers import lifecycle, publishing, resigning, reverifying
        from apps.providers.docs import replacing
        from apps.providers.models import ProviderVersion
        from apps.releases import rebuilding
        from apps.releases.job_targets import RELEASES, by_address
        from apps.releases.models import Kind

        versions = ProviderVersion.objects.select_related("release__namespace")
        register(RELEASES, publishing.JOB, resigning.JOB, reverifying.JOB)
        register(Source(versions.all, lambda word: by_address(word, "release__")), replacing.JOB)
        rebuilding.register(Kind.PROVIDER, lifecycle.ACTS.refresh)
