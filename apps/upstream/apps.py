from django.apps import AppConfig


class UpstreamConfig(AppConfig):
    name = "apps.upstream"
