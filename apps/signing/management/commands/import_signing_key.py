import getpass
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Namespace
from apps.lib.errors import RegistryError
from apps.signing import armor, key_generation, packets, vault


class Command(BaseCommand):
    help = "Import a private signing key. Run it on a worker host, so that the key is not sent over the network."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", required=True, metavar="NAME")
        parser.add_argument(
            "--file", required=True, metavar="PATH", help="The output of gpg --export-secret-keys; - is stdin."
        )

    def handle(self, **options: Any) -> None:
        namespace = Namespace.objects.filter(name=options["namespace"]).first()
        if namespace is None:
            raise CommandError(f"There is no namespace {options['namespace']!r}.")
        name = options["file"]
        try:
            with sys.stdin.buffer if name == "-" else Path(name).open("rb") as file:
                material = file.read(armor.MAX_KEY_BYTES + 1)
        except OSError as error:
            raise CommandError(f"{name} cannot be read: {error.strerror}.") from None
        if len(material) > armor.MAX_KEY_BYTES:
            raise CommandError(f"{name} is larger than a key: more than {armor.MAX_KEY_BYTES:,} bytes.")
        # Runs on a worker's host.
        vault.unlock()
        try:
            passphrase = getpass.getpass("Passphrase of the key: ") if packets.is_protected(material) else ""
            key = key_generation.import_key(namespace=namespace, material=material, passphrase=passphrase, actor=NOBODY)
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        finally:
            vault.lock()
        self.stderr.write(f"{namespace} signs with the {key.algorithm} key of {key.uid}; delete {options['file']} now:")
        self.stdout.write(key.fingerprint)
