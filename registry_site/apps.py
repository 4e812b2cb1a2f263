from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class RegistrySiteConfig(AppConfig):
    """Makes the composition root an app, for its commands and for what must happen once all apps are loaded."""

    name = "registry_site"
    default = True

    def ready(self) -> None:
        # Every process needs the current Celery app: any command may enqueue a job.
        import_module("registry_site.celery")
        import_module("registry_site.startup.checks")
        import_module("registry_site.wiring").connect()


class LarderAdminConfig(admin_apps.AdminConfig):
    default = False
    default_site = "registry_site.admin.site.LarderAdminSite"
