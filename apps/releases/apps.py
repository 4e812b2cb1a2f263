from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "apps.releases"

    def ready(self) -> None:
        from apps.accounts import namespace_deletion
        from apps.blobs import references
        from apps.jobs import targets
        from apps.releases.lifecycle import purging, verification
        from apps.releases.lifecycle.blob_references import holds
        from apps.releases.publishing.job_targets import RELEASES
        from apps.releases.publishing.quotas import versions_in

        references.register(holds)
        namespace_deletion.register(versions_in)
        targets.register(RELEASES, purging.JOB, verification.JOB)
