from django.apps import AppConfig


class OciConfig(AppConfig):
    name = "apps.oci"
    verbose_name = "OCI"

    def ready(self) -> None:
        from apps.modules import attachments
        from apps.oci.blobs import pushed_bytes
        from apps.oci.forgetting import forget
        from apps.oci.shelf import Tables
        from apps.releases import purging, quotas

        quotas.also(pushed_bytes)
        purging.also(forget)
        attachments.register(Tables())
