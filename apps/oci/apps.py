from django.apps import AppConfig


class OciConfig(AppConfig):
    name = "apps.oci"
