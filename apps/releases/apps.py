from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "apps.releases"

    def ready(self) -> None:
        from apps.accounts import namespace_deletion
        from apps.blobs import holders
        from apps.releases.holding import holds
        from apps.releases.quotas import versions_in

        holders.register(holds)
        namespace_deletion.register(versions_in)
