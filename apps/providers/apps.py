from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "apps.providers"

    def ready(self) -> None:
        from apps.jobs.targets import Source, register
        from apps.providers import publishing, resigning, reverifying
        from apps.providers.docs import replacing
        from apps.providers.models import ProviderVersion
        from apps.releases.job_targets import RELEASES, by_address

        versions = ProviderVersion.objects.select_related("release__namespace")
        register(RELEASES, publishing.JOB, resigning.JOB, reverifying.JOB)
        register(Source(versions.all, lambda word: by_address(word, "release__")), replacing.JOB)
