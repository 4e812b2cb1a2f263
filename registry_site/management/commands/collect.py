from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from registry_site.startup import bootstrap


class Command(BaseCommand):
    help = "Collect changed static files. web and up do this automatically, an image once when it is built."
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        bootstrap.data_folder(settings.DATA_DIR)
        bootstrap.static_files()
