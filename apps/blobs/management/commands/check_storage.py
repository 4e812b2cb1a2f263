"""`manage.py check_storage [--whole] [--remove-orphans]`: read stored bytes again, list objects without a row."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.blobs import store
from apps.blobs.care import scrub
from apps.blobs.models import Blob, Problem, State

SHOWN = 20


class Command(BaseCommand):
    help = "Verify blobs, least recently read first, and list objects without a row (docs/operations/storage.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--whole", action="store_true", help="Verify everything, however long it takes.")
        parser.add_argument(
            "--remove-orphans",
            action="store_true",
            help="Delete objects without a row. Never use it after restoring an older database: they may be releases.",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        report = scrub.scrub(
            now=timezone.now(),
            most=None if options["whole"] else scrub.MAX_DURATION,
            remove_orphans=options["remove_orphans"],
        )
        self.stdout.write(
            f"Read {report.checked} blobs with {report.bytes} bytes: {report.missing} missing, {report.damaged} "
            f"damaged, {report.healed} repaired."
        )
        self.stdout.write(
            f"Listed {report.listed} objects older than a day: {report.orphans} orphans, {report.removed} removed."
        )
        if not report.outage:
            self.stdout.write(f"Objects are created only once by {store.creates_by()}.")
            if not report.is_complete:
                self.stdout.write("More remain: the next run continues, or --whole reads to the end.")
        wrong = Blob.objects.filter(state=State.READY).exclude(problem=Problem.NONE).order_by("pk")
        count = wrong.count()
        self._name("", [f"{blob.problem} {blob}" for blob in wrong[:SHOWN]], count)
        self._name("orphan ", [f"sha256:{digest}" for digest in report.first_orphans[:SHOWN]], report.orphans)
        complaints = []
        if count:
            complaints.append(f"Blobs that are missing or damaged: {count}. See docs/operations/storage.md.")
        if report.unread:
            complaints.append(f"Blobs that could not be read: {report.unread}. See the log.")
        if report.outage:
            complaints.append(f"The check stopped early: {report.outage}")
        if complaints:
            raise CommandError(" ".join(complaints))

    def _name(self, what: str, lines: list[str], count: int) -> None:
        for line in lines:
            self.stdout.write(f"{what}{line}")
        if count > len(lines):
            self.stdout.write(f"{what}… and {count - len(lines)} more")
