"""`manage.py restore FOLDER`: fill an empty, stopped Larder from a backup, and verify every version."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from apps.accounts.access import epoch
from apps.audit import chain
from apps.lib.errors import RegistryError
from registry_site.operations import backup
from registry_site.startup.bootstrap import CannotStartError


class Command(BaseCommand):
    help = "Fill an empty, stopped Larder from a backup of this or an earlier version (docs/operations/backup.md)."
    requires_system_checks: list[str] = []  # the tables come with it
    purpose = "backup"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help=f"A folder written by `manage.py {self.purpose}`.")
        parser.add_argument("--keys", type=Path, metavar="FILE", help="Install the keys of this file.")
        survived = "The storage of this Larder still exists; only the database was lost."
        parser.add_argument("--storage-survived", action="store_true", help=survived)

    @backup.owner_only()
    def handle(self, *_: Any, folder: Path, keys: Path | None, storage_survived: bool, **__: Any) -> None:
        try:
            manifest = backup.read_manifest(folder)
            if manifest.purpose != self.purpose:
                other = "import" if manifest.purpose == "export" else "restore"
                raise CommandError(f"{folder} was written by `manage.py {manifest.purpose}`: use `manage.py {other}`.")
            if not manifest.has_blobs and not storage_survived:
                raise CommandError(f"{folder} has no blobs: add --storage-survived if storage has them.")
            with backup.stopped():
                if keys is not None:
                    self.stdout.write(f"{keys}: {', '.join(backup.load_keys(keys))}")
                backup.load(folder, manifest, storage_survived=storage_survived, say=self.stdout.write)
                self.settle()
        except CannotStartError as refused:
            raise CommandError(str(refused)) from None
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}".strip()) from None
        self.verify()

    def settle(self) -> None:
        """Take back access that may have ended since the backup."""
        counts = epoch.suspend(found_by="restore")
        self.stdout.write("Ended or suspended: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        self.stdout.write("Decide about the tokens: manage.py restored --accept-tokens, or --revoke-tokens.")

    def verify(self) -> None:
        report = chain.verify()
        for problem in report.problems:
            self.stdout.write(problem)
        call_command("verify", stdout=self.stdout)
        connection.close()
        if report.problems:
            raise CommandError("The audit log was changed.")
