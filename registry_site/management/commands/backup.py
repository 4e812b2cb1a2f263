"""`manage.py backup FOLDER`: everything that a restore needs, while Larder goes on serving."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import RegistryError
from apps.signing import vault
from registry_site.operations import backup


class Command(BaseCommand):
    help = "Copy database, blobs and ledger to a new folder while Larder keeps running (docs/operations/backup.md)."
    purpose = "backup"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="A new or empty folder.")
        keys = "Also write the secret key and the key-encryption key to a new file. Keep it apart from the folder."
        parser.add_argument("--keys", type=Path, metavar="FILE", help=keys)
        parser.add_argument(
            "--without-blobs", action="store_true", help="Only list the blobs: storage has its own backup."
        )
        copy = "Copy and check every blob, even where a hard link would be enough."
        parser.add_argument("--copy", action="store_true", help=copy)

    @backup.owner_only()
    def handle(self, *_: Any, **options: Any) -> None:
        try:
            if options["keys"]:
                names = backup.save_keys(options["keys"])
                self.stdout.write(f"{options['keys']}: {', '.join(names) or 'no readable key on this host'}")
                for service in vault.services():
                    self.stdout.write(f"not the key of {service.title}: the service has its own backup")
            with backup.recorded(self.purpose):
                self.write(options)
        except FileExistsError as there:
            raise CommandError(f"{there.filename} already exists: name a new file.") from None
        except RegistryError as refused:
            raise CommandError(f"{refused} {refused.hint}".strip()) from None

    def write(self, options: dict[str, Any]) -> None:
        manifest = backup.write(
            options["folder"],
            purpose=self.purpose,
            with_blobs=not options["without_blobs"],
            is_linked=not options["copy"],
            say=self.stdout.write,
        )
        if self.purpose == "backup":  # an export is of a Larder that is about to go
            figures = {"rows": sum(manifest.rows.values()), "blobs": len(manifest.blobs)}
            record(Kind.BACKUP_WRITTEN, actor_id=None, subject="backup", with_blobs=manifest.has_blobs, **figures)
        self.stdout.write(f"{options['folder']} is complete.")
