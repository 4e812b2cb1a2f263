from django.apps import AppConfig


class OciConfig(AppConfig):
    name = "apps.oci"

    def ready(self) -> None:
        from apps.oci.blobs import pushed_bytes
        from apps.oci.forgetting import forget
        from apps.releases import purging, quotas

        quotas.also(pushed_bytes)
        purging.also(forget)
