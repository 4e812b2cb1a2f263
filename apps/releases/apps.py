from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "apps.releases"

    def ready(self) -> None:
        from apps.blobs import holders
        from apps.releases.holding import holds

        holders.register(holds)
