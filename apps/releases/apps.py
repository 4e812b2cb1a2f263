from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "apps.releases"

    def ready(self) -> None:
        from apps.accounts import namespace_deletion
        from apps.blobs import holders
        from apps.jobs import targets
        from apps.releases import purging, verifying
        from apps.releases.holding import holds
        from apps.releases.job_targets import RELEASES
        from apps.releases.quotas import versions_in

        holders.register(holds)
        namespace_deletion.register(versions_in)
        targets.register(RELEASES, purging.JOB, verifying.JOB)
