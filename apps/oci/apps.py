from django.apps import AppConfig


class OciConfig(AppConfig):
    name = "apps.oci"
    verbose_name = "OCI"

    def ready(self) -> None:
        from apps.accounts import namespace_deletion
        from apps.modules import attachments
        from apps.oci.blobs import pushed_bytes, pushed_in
        from apps.oci.forgetting import forget
        from apps.oci.shelf import Tables
        from apps.releases.lifecycle import purging
        from apps.releases.publishing import quotas

        quotas.also(pushed_bytes)
        namespace_deletion.register(pushed_in)
        purging.also(forget)
        attachments.register(Tables())
