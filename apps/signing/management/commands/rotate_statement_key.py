from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.access.gate import NOBODY
from apps.lib.errors import RegistryError
from apps.signing import statement_keys


class Command(BaseCommand):
    help = (
        "Retire the key with which the registry signs statements about releases; a signing worker makes the next one. "
        "What the retired key signed stays valid, and the key stays listed."
    )

    def handle(self, **_: Any) -> None:
        try:
            key = statement_keys.rotate(actor=NOBODY)
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        self.stderr.write("Retired; a signing worker makes the next key:")
        self.stdout.write(key.key_id)
