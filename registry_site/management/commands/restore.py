"""`manage.py restore`: fill an empty, stopped Larder from a backup, and verify every version."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from apps.accounts.access import epoch
from apps.audit import chain
from registry_site.management.commands.backup import refusals, require_url
from registry_site.operations import authenticity, backup, backup_store, rehearsal
from registry_site.operations.backup import Manifest, Opened
from registry_site.startup import restoring
from registry_site.startup.bootstrap import CannotStartError


class Command(BaseCommand):
    help = "Fill an empty, stopped Larder from a backup of this or an earlier version (docs/operations/backup.md)."
    requires_system_checks: list[str] = []  # the tables come with it
    purpose = "backup"

    def add_arguments(self, parser: ArgumentParser) -> None:
        written = f"A folder written by `manage.py {self.purpose}`."
        if self.purpose == "backup":
            parser.add_argument("folder", type=Path, nargs="?", help=written)
            stored = "A backup of LARDER_BACKUP_URL: `newest`, or a name of `manage.py backup --list`."
            parser.add_argument("--from", dest="stored", metavar="NAME", help=stored)
            key = "A file with a private key that decrypts it. Without one gpg uses your own keys."
            parser.add_argument("--private-key", type=Path, metavar="FILE", help=key)
            plain = "Accept a backup that is not encrypted, although LARDER_BACKUP_RECIPIENT_FILE is set."
            parser.add_argument("--plain", action="store_true", help=plain)
        else:
            parser.add_argument("folder", type=Path, help=written)
        parser.add_argument("--keys", type=Path, metavar="FILE", help="Install the keys of this file.")
        unproven = "Accept a backup that does not prove who wrote it, such as one of an earlier version of Larder."
        parser.add_argument("--unauthenticated", action="store_true", help=unproven)
        survived = "The storage of this Larder still exists; only the database was lost."
        parser.add_argument("--storage-survived", action="store_true", help=survived)
        rehearse = "Read all of the backup, say what it would restore and what prevents it here, and change nothing."
        parser.add_argument("--dry-run", action="store_true", help=rehearse)

    @backup.owner_only()
    def handle(self, *_: Any, folder: Path | None, **options: Any) -> None:
        stored: str = options.get("stored") or ""
        if bool(folder) == bool(stored):
            raise CommandError("Name either the folder of a backup, or one of LARDER_BACKUP_URL: --from newest")
        with refusals():
            if folder is not None:
                self.restore(folder, backup.blobs_in(folder), options)
                return
            require_url()
            with backup_store.fetched(
                stored, options["private_key"], may_be_plain=options["plain"], say=self.stdout.write
            ) as (fetched, opened):
                self.restore(fetched, opened, options)

    def restore(self, folder: Path, opened: Opened, options: dict[str, Any]) -> None:
        keys, storage_survived = options["keys"], options["storage_survived"]
        saved = backup.check_keys(keys).get("secret_key", "") if keys is not None else ""
        manifest = backup.read_manifest(
            folder,
            secret_keys=authenticity.secret_keys(saved),
            is_trusted=options["unauthenticated"],
            say=self.stdout.write,
        )
        if manifest.purpose != self.purpose:
            other = "import" if manifest.purpose == "export" else "restore"
            raise CommandError(f"{folder} was written by `manage.py {manifest.purpose}`: use `manage.py {other}`.")
        if not manifest.has_blobs and not storage_survived:
            raise CommandError(f"{folder} has no blobs: add --storage-survived if storage has them.")
        if options["dry_run"]:
            self.rehearse(folder, manifest, opened, options)
            return
        try:
            with backup.stopped():
                rehearsal.require_room(folder, manifest)
                if keys is not None:
                    self.stdout.write(f"{keys}: {', '.join(backup.load_keys(keys))}")
                backup.load(folder, manifest, opened, storage_survived=storage_survived, say=self.stdout.write)
                self.settle()
                restoring.end()
        except CannotStartError as refused:
            raise CommandError(str(refused)) from None
        self.verify()

    def rehearse(self, folder: Path, manifest: Manifest, opened: Opened, options: dict[str, Any]) -> None:
        obstacles = rehearsal.rehearse(
            folder, manifest, opened, storage_survived=options["storage_survived"], say=self.stdout.write
        )
        if options["keys"] is not None:
            names = backup.check_keys(options["keys"])
            self.stdout.write(f"{options['keys']} would install: {', '.join(names)}")
        if obstacles:
            raise CommandError("\n".join(["It cannot be restored here:", *obstacles]))
        self.stdout.write("It can be restored here. Nothing was changed.")

    def settle(self) -> None:
        """Take back access that may have ended since the backup."""
        counts = epoch.suspend(found_by="restore")
        self.stdout.write("Ended or suspended: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        self.stdout.write("Decide about the tokens: manage.py restored --accept-tokens, or --revoke-tokens.")

    def verify(self) -> None:
        chain.link()  # a backup has rows of its last minute, which no worker had linked
        report = chain.verify()
        for problem in report.problems:
            self.stdout.write(problem)
        call_command("verify", stdout=self.stdout)
        connection.close()
        if report.problems:
            raise CommandError("The audit log was changed.")
