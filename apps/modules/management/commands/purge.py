"""`manage.py purge acme/vpc/aws 1.2.0 --reason … --confirm "acme/vpc/aws 1.2.0"`: remove a version for good."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.lib.addresses import ModuleAddress
from apps.lib.errors import RegistryError
from apps.modules import lifecycle


class Command(BaseCommand):
    help = "Remove a published version for good: its rows now, its bytes by a worker. Its number is never used again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", metavar="namespace/name/system")
        parser.add_argument("version")
        parser.add_argument("--reason", required=True, help="Stays on the page of all versions, for everybody.")
        parser.add_argument(
            "--confirm", required=True, metavar='"ADDRESS VERSION"', help="Both once more, as one text."
        )

    def handle(self, **options: Any) -> None:
        try:
            release = lifecycle.purge_here(
                address=ModuleAddress.parse(options["address"]),
                version=options["version"],
                reason=options["reason"],
                confirm=options["confirm"],
            )
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.mend}".strip()) from None
        self.stdout.write(f"{release} is removed. A worker deletes its bytes now.")
