"""`manage.py collect_oci [--dry-run]`: remove or count unneeded objects of the repositories."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.artifacts import gc


class Command(BaseCommand):
    help = "Remove expired uploads, unreachable manifests and unused blobs (oci.md, Clean up)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="Count the objects that the first run would remove, without removing them.",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        figures = gc.collect(dry_run=options["dry_run"])
        self.stdout.write(f"{'Would remove' if options['dry_run'] else 'Removed'} {figures.sentence}.")
        if not figures.is_complete:
            self.stdout.write("More remain: the next run continues.")
