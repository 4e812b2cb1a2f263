"""`manage.py verify`: every published version, compared with its bytes, signature and ledger entry."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.blobs.care import runs
from apps.blobs.store import StorageUnavailable
from registry_site.operations import verifying


class Command(BaseCommand):
    help = "Verify the stored bytes of every published version; exit with 1 if one was changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sample", type=int, default=0, metavar="N", help="Only N versions, chosen at random.")

    def handle(self, *_: Any, sample: int, **__: Any) -> None:
        with runs.recorded(runs.What.VERIFY):
            self.verify(sample)

    def verify(self, sample: int) -> None:
        checked = wrong = 0
        try:
            for verdict in verifying.verify(sample=sample):
                checked += 1
                wrong += bool(verdict.problems)
                for problem in verdict.problems:
                    self.stdout.write(f"{verdict.release}: {problem}")
        except StorageUnavailable as away:
            raise CommandError(f"Stopped after {checked} versions: {away}") from away
        self.stdout.write(f"{checked} published versions checked: {wrong} damaged.")
        if wrong:
            raise CommandError("See docs/operations/storage.md, Check the stored bytes.")
