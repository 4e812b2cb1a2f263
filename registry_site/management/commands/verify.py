"""`manage.py verify`: each version with its bytes, signature and ledger entry; mirrored packages; or the reverse."""

from argparse import ArgumentParser
from itertools import chain
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.blobs.care import runs
from apps.blobs.store import StorageUnavailable
from apps.room import all_of
from registry_site.operations import verifying


class Command(BaseCommand):
    help = "Verify the stored bytes of every published version and mirrored package; exit with 1 if one was changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--sample", type=int, default=0, metavar="N", help="Only N versions, chosen at random.")
        lost = "List the versions of the ledger in storage that the database lost, instead."
        which.add_argument("--ledger", action="store_true", help=lost)

    def handle(self, *_: Any, sample: int, ledger: bool, **__: Any) -> None:
        if ledger:
            self.compare_ledger()
            return
        with runs.recorded(runs.What.VERIFY):
            self.verify(sample)

    def verify(self, sample: int) -> None:
        checked = wrong = 0
        try:
            for release in verifying.verify(sample=sample):
                checked += 1
                wrong += bool(release.problems)
                for problem in release.problems:
                    self.stdout.write(f"{release.release}: {problem}")
            mirrored, lost = self.verify_mirrored(sample)
        except StorageUnavailable as away:
            raise CommandError(f"Stopped after {checked} versions: {away}") from away
        self.stdout.write(f"{checked} published versions checked: {wrong} damaged.")
        if mirrored:
            self.stdout.write(f"{mirrored} mirrored packages checked: {lost} damaged.")
        if wrong or lost:
            raise CommandError("See docs/operations/storage.md, Check the stored bytes.")

    def verify_mirrored(self, sample: int) -> tuple[int, int]:
        """Return how many packages of other registries were checked, and how many are damaged."""
        checked = wrong = 0
        for name, problems in chain.from_iterable(verify(sample=sample) for verify in all_of("verifications")):
            checked += 1
            wrong += bool(problems)
            for problem in problems:
                self.stdout.write(f"{name}: {problem}")
        return checked, wrong

    def compare_ledger(self) -> None:
        count = 0
        try:
            for one in verifying.lost():
                count += 1
                self.stdout.write(str(one))
        except StorageUnavailable as away:
            raise CommandError(f"Stopped: {away}") from away
        self.stdout.write(f"{count} versions of the ledger are not in the database.")
        if count:
            raise CommandError("See docs/operations/backup.md, Versions that the database lost.")
