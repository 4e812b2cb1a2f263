from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "apps.providers"

    def ready(self) -> None:
        from apps.jobs.targets import Source, register
        from apps.providers import lifecycle, publishing
        from apps.providers.docs import replacing
        from apps.providers.models import ProviderVersion
        from apps.providers.signatures import resigning, reverification
        from apps.releases.catalogue import rebuilding
        from apps.releases.models import Kind
        from apps.releases.publishing.job_targets import RELEASES, by_address

        versions = ProviderVersion.objects.select_related("release__namespace")
        register(RELEASES, publishing.JOB, resigning.JOB, reverification.JOB)
        register(Source(versions.all, lambda word: by_address(word, "release__")), replacing.JOB)
        rebuilding.register(Kind.PROVIDER, lifecycle.ACTS.refresh)
