from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.contrib.copy.edge import downloads
from apps.lib.errors import RegistryError


class Command(BaseCommand):
    help = "Count the downloads in logs of a web server that serves the static copy. Each line counts once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="in the format larder_copy; also as .gz")

    def handle(self, *_: Any, **options: Any) -> None:
        for path in options["logs"]:
            try:
                counted = downloads.count(path)
            except RegistryError as error:
                raise CommandError(f"{error} {error.hint}") from None
            self.stdout.write(f"{path}: {counted.downloads} downloads, {counted.others} other requests.")
            if counted.unknown:
                self.stdout.write(f"{counted.unknown} downloads are of versions that no longer exist.")
            if counted.unreadable:
                self.stdout.write(
                    f"{counted.unreadable} lines were skipped: found another format, expected larder_copy of "
                    "deploy/nginx/static-copy.conf."
                )
