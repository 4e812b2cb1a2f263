from django.apps import AppConfig


class ReleasesConfig(AppConfig):
    name = "apps.releases"

    def ready(self) -> None:
        from apps.accounts import namespace_deletion
        from apps.blobs import references
        from apps.jobs import targets
        from apps.releases.lifecycle import purging, verification
        from apps.releases.lifecycle.blob_references import referenced_by_release
        from apps.releases.publishing.job_targets import RELEASES
        from apps.releases.publishing.quotas import versions_in

        references.register(referenced_by_release)
        namespace_deletion.register(versions_in)
        targets.register(RELEASES, purging.JOB, verification.JOB)
