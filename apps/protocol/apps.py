from django.apps import AppConfig


class ProtocolConfig(AppConfig):
    name = "apps.protocol"
