from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.commands.migrate import Command as Migrate

from registry_site import preparation


class Command(Migrate):
    """As Django's, under the lock and without the time-outs of `manage.py up`, and with the table of the cache."""

    def handle(self, *args: Any, **options: Any) -> None:
        preparation.data_folder(settings.DATA_DIR)
        with preparation.one_host_at_a_time():
            super().handle(*args, **options)
            if not (options["plan"] or options["check_unapplied"]):
                call_command("createcachetable", verbosity=0)
