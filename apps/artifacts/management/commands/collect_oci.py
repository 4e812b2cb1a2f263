"""`manage.py collect_oci [--dry-run]`: remove or count unneeded objects of the repositories."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.artifacts import gc


class Command(BaseCommand):
    help = "Remove lapsed uploads, unreachable manifests and unneeded blobs (oci.md, Clean up)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="Count what the first run would remove, and remove nothing."
        )

    def handle(self, *_: Any, **options: Any) -> None:
        figures = gc.collect(dry_run=options["dry_run"])
        self.stdout.write(f"{'Would remove' if options['dry_run'] else 'Removed'} {figures.sentence}.")
        if not figures.is_complete:
            self.stdout.write("There is more: the next run continues.")
