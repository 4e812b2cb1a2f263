import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.blobs.store import StorageUnavailable
from apps.contrib.copy import settings_values
from apps.contrib.copy.models import Root
from apps.contrib.copy.writing import checking, following, writer
from apps.contrib.copy.writing.writer import Writer
from apps.lib.errors import Invalid

SIGNED_SECONDS = 30.0
SHOWN = 20  # differences


class Command(BaseCommand):
    help = (
        "Write everything that clients read, documents and bytes, as a tree of files that a web server or a bucket "
        "serves. Run again, it writes what has changed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--to", metavar="URL", help="file:///folder or s3://bucket; default: LARDER_STATIC_COPY_URL"
        )
        only = parser.add_mutually_exclusive_group()
        only.add_argument("--check", action="store_true", help="compare every file, and write nothing")
        only.add_argument("--rebuild", action="store_true", help="compare every file, and repair what differs")

    def handle(self, *, to: str | None, check: bool, rebuild: bool, **_: Any) -> None:
        url = to or settings.STATIC_COPY.url
        if not url:
            raise CommandError("Name a place: --to file:///folder or --to s3://bucket, or set LARDER_STATIC_COPY_URL.")
        try:
            settings_values.check(url)
            if check:
                self._check(url)
            else:
                self._write(url, rebuild=rebuild)
        except (Invalid, StorageUnavailable) as refusal:
            raise CommandError(f"{refusal} {getattr(refusal, 'hint', '')}".strip()) from None

    def _check(self, url: str) -> None:
        count = self._show(url, repair=False)
        if count:
            raise CommandError(f"{count} files differ. Repair them: manage.py static_copy --rebuild --to {url}")
        self.stdout.write("Every file is as it should be.")

    def _show(self, url: str, *, repair: bool) -> int:
        count = 0
        for path, found, expected in checking.differences(url, repair=repair):
            count += 1
            if count <= SHOWN:
                self.stdout.write(f"{path}: found {found}, expected {expected}")
        return count

    def _write(self, url: str, *, rebuild: bool) -> None:
        began, count = time.monotonic(), 0
        if rebuild:
            self.stdout.write(f"{self._show(url, repair=True)} files differed, and were repaired.")
        with writer.opened(url) as own:
            number = writer.current_generation()
            left = following.everything_counted(own.copy)
            while some := following.sweep_step(own, left):
                count += some
            own.seal(number=number)
            for address, reason in own.broken.items():
                self.stderr.write(f"{address} was left out: {reason}")
            self._put_root(own)
        self.stdout.write(f"{count} addresses in {time.monotonic() - began:.1f} s.")
        if own.broken:
            raise CommandError(f"{len(own.broken)} addresses were left out. Restore their bytes, and run this again.")

    def _put_root(self, own: Writer) -> None:
        """Wait for a signing worker."""
        until = time.monotonic() + SIGNED_SECONDS
        while not own.put_root():
            own.ask_for_signature(Root.objects.get(copy=own.copy).pk)
            own.advance()
            if time.monotonic() > until:
                self.stderr.write(
                    "The manifest is not signed yet: no signing worker has answered. Clients can read the copy; "
                    "followers and bundles wait for the signature. Start a worker, and run this again."
                )
                return
            time.sleep(0.2)
