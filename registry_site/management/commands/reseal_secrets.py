from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.identity import sealing
from registry_site import wiring


class Command(BaseCommand):
    help = (
        "Re-encrypt every stored secret (credentials of repositories and mirrors, secrets of webhooks, second factors) "
        "with the newest secret key, the first line of LARDER_SECRET_KEY_FILE. Run it before you remove another line; "
        "safe to run repeatedly."
    )

    def handle(self, **_: Any) -> None:
        resealed = closed = 0
        for found in sealing.outdated(wiring.sealed_columns()):
            if found.renewed is None:
                closed += 1
                self.stderr.write(f"{found}: no line of the file opens it.")
            else:
                resealed += sealing.replace(found)
        self.stdout.write(f"{resealed} resealed.")
        if closed:
            raise CommandError(
                f"{closed} were encrypted with another secret key and are unchanged. Add that key as the last line of "
                "LARDER_SECRET_KEY_FILE and run this again, or see docs/operations/keys.md, A stored secret does not "
                "open."
            )
        self.stdout.write("All stored secrets use the newest secret key.")
