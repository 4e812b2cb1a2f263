from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from registry_site.startup import bootstrap


class Command(BaseCommand):
    help = "Collect static files where they have changed; web and up do it by themselves, an image does it once."
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        bootstrap.data_folder(settings.DATA_DIR)
        bootstrap.static_files()
