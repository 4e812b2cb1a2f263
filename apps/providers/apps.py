from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "apps.providers"

    def ready(self) -> None:
        from apps.providers.artefacts import quarantined_digests
        from apps.releases import blocking

        blocking.also(quarantined_digests)
