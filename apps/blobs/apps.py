from django.apps import AppConfig


class BlobsConfig(AppConfig):
    name = "apps.blobs"
