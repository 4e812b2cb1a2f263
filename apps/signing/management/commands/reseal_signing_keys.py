from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.lib.errors import RegistryError
from apps.signing import fingerprints, rewrapping, vault


class Command(BaseCommand):
    help = (
        "Re-encrypt every private signing key under the first key of LARDER_SIGNING_KEK_FILE. "
        "Run it on a worker host; safe to run repeatedly."
    )

    def handle(self, **_: Any) -> None:
        vault.unlock()  # a command of the worker host, as the worker itself
        try:
            outcomes = list(rewrapping.rewrap_all())
            if not any(outcome.problem for outcome in outcomes):
                fingerprints.accept_kek(vault.newest_kek_id())
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        finally:
            vault.lock()
        problems = [(outcome.key, outcome.problem) for outcome in outcomes if outcome.problem]
        for key, problem in problems:
            self.stderr.write(f"{key.namespace}, {key}: {problem} {problem.hint}")
        self.stdout.write(f"{len(outcomes) - len(problems)} resealed.")
        if problems:
            raise CommandError(f"{len(problems)} could not be opened and are unchanged: keep every line of the file.")
        self.stdout.write("All private keys use the first line of the file.")
