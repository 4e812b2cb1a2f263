from django.apps import AppConfig


class OciConfig(AppConfig):
    name = "apps.oci"

    def ready(self) -> None:
        from apps.oci.blobs import pushed_bytes
        from apps.releases import quotas

        quotas.also(pushed_bytes)
