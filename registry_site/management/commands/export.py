"""`manage.py export FOLDER`: everything of a stopped Larder, to move it to other servers.

Without a folder it prints the file that describes this registry (docs/as-code.md), which `manage.py apply` reads.
"""

from itertools import chain
from typing import Any

from django.core.management.base import CommandError

from apps.jobs import heartbeats
from apps.room import all_of
from registry_site.management.commands.backup import Command as Backup
from registry_site.operations import backup
from registry_site.server.probes import HEARTBEAT_MAX_AGE
from registry_site.startup.bootstrap import CannotStartError


class Command(Backup):
    help = "Copy everything of a stopped Larder to a new folder, for `manage.py import` on other servers."
    purpose = "export"

    def handle(self, *args: Any, **options: Any) -> None:
        if options["folder"] is not None:
            super().handle(*args, **options)
            return
        described = all_of("exports")
        if not described:
            raise CommandError("Name a new folder. The part that describes this registry as a file is left out.")
        for text in chain.from_iterable(describe() for describe in described):
            self.stdout.write(text, ending="")

    def write(self, options: dict[str, Any]) -> None:
        try:
            with backup.stopped():
                if heartbeats.since(HEARTBEAT_MAX_AGE).exists():
                    raise CommandError(
                        "A worker reported recently. Stop every process of Larder first and wait a minute: changes "
                        "made now would be lost."
                    )
                super().write(options)
        except CannotStartError as refused:
            raise CommandError(str(refused)) from None
