from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from apps.releases.catalogue import indexing


class Command(BaseCommand):
    help = "Add modules and providers published by an older Larder to the search index; with --all, index all again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--all", action="store_true", help="also those already indexed, and drop unused spellings")

    def handle(self, *_: Any, **options: Any) -> None:
        count = indexing.rebuild_all() if options["all"] else indexing.rebuild_all_outdated()
        self.stdout.write(f"{count} indexed.")
