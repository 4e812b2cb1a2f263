"""`manage.py purge acme/vpc/aws 1.2.0 --reason … --confirm "acme/vpc/aws 1.2.0"`: remove a version for good."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import RegistryError
from apps.modules import lifecycle as modules
from apps.providers import lifecycle as providers

PROVIDER_SLASHES = 1


class Command(BaseCommand):
    help = "Purge a published version: its rows now, its bytes by a worker. Its number cannot be reused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", metavar="ADDRESS", help="namespace/name/system, or namespace/type of a provider")
        parser.add_argument("version")
        parser.add_argument("--reason", required=True, help="Shown to everyone on the list of versions.")
        parser.add_argument(
            "--confirm", required=True, metavar='"ADDRESS VERSION"', help="Address and version again, as one text."
        )

    def handle(self, **options: Any) -> None:
        told = {name: options[name] for name in ("version", "reason", "confirm")}
        try:
            if (address := options["address"]).count("/") == PROVIDER_SLASHES:
                release = providers.purge_here(address=ProviderAddress.parse(address), **told)
            else:
                release = modules.purge_here(address=ModuleAddress.parse(address), **told)
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}".strip()) from None
        self.stdout.write(f"{release} is removed. A worker deletes its bytes now.")
