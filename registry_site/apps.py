from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps


class RegistrySiteConfig(AppConfig):
    """The composition root is an app for its management commands alone."""

    name = "registry_site"
    default = True


class LarderAdminConfig(admin_apps.AdminConfig):
    default = False
    default_site = "registry_site.admin.LarderAdminSite"
