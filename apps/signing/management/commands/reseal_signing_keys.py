from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.lib.errors import RegistryError
from apps.signing import fingerprints, rewrapping, vault


class Command(BaseCommand):
    help = (
        "Re-encrypt every private signing key with the newest key-encryption key: the first of "
        "LARDER_SIGNING_KEK_URL, or the first line of LARDER_SIGNING_KEK_FILE. Run it on a worker host; safe to run "
        "repeatedly."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all",
            action="store_true",
            help="Also keys that already use it: needed after a key service has a new key version.",
        )

    def handle(self, **options: Any) -> None:
        vault.unlock()  # a command of the worker host, as the worker itself
        resealed = failed = 0
        try:
            for key, problem in rewrapping.rewrap_all(also_current=options["all"]):
                if problem is not None:
                    failed += 1
                    self.stderr.write(f"{rewrapping.subject_of(key)}, {key}: {problem} {problem.hint}")
                else:
                    resealed += 1
            if not failed:
                fingerprints.accept_kek(vault.newest_kek_id())
            newest = vault.newest_kek_title()
        except RegistryError as refused:
            done = f"{resealed} resealed; run it again for the others. " if resealed else ""
            raise CommandError(f"{done}{refused} {refused.hint}") from None
        finally:
            vault.lock()
        self.stdout.write(f"{resealed} resealed.")
        if failed:
            raise CommandError(
                f"{failed} could not be decrypted and are unchanged: keep every older key-encryption key."
            )
        self.stdout.write(f"All private keys use {newest}.")
