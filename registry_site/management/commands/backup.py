"""`manage.py backup`: everything that a restore needs, while Larder continues to serve."""

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import RegistryError
from apps.signing import vault
from registry_site.operations import backup, backup_store


class Command(BaseCommand):
    help = (
        "Copy database, blobs and ledger to LARDER_BACKUP_URL, or to a new folder, while Larder keeps running "
        "(docs/operations/backup.md)."
    )
    purpose = "backup"

    def add_arguments(self, parser: ArgumentParser) -> None:
        if self.purpose == "backup":
            where = "A new or empty folder. Without one the backup goes to LARDER_BACKUP_URL."
            parser.add_argument("folder", type=Path, nargs="?", help=where)
            parser.add_argument("--list", action="store_true", help="List the complete backups of LARDER_BACKUP_URL.")
        else:
            where = "A new or empty folder. Without one the file that describes this registry is printed."
            parser.add_argument("folder", type=Path, nargs="?", help=where)
        keys = "Also write the secret key and the key-encryption key to a new file. Keep it apart from the folder."
        parser.add_argument("--keys", type=Path, metavar="FILE", help=keys)
        parser.add_argument(
            "--without-blobs", action="store_true", help="Only list the blobs: storage has its own backup."
        )
        copy = "Copy and check every blob, even where a hard link or an earlier backup's copy would be enough."
        parser.add_argument("--copy", action="store_true", help=copy)

    @backup.owner_only()
    def handle(self, *_: Any, **options: Any) -> None:
        with refusals():
            if options.get("list"):
                self.list()
                return
            if options["keys"]:
                names = backup.save_keys(options["keys"])
                self.stdout.write(f"{options['keys']}: {', '.join(names) or 'no readable key on this host'}")
                for service in vault.services():
                    self.stdout.write(f"not the key of {service.title}: the service has its own backup")
            if options["folder"] is None:
                require_url()
            with backup.recorded(self.purpose):
                self.write(options)

    def list(self) -> None:
        require_url()
        for name in backup_store.names():
            self.stdout.write(name)

    def write(self, options: dict[str, Any]) -> None:
        """Write one backup, from its start to its end."""
        folder, say, with_blobs = options["folder"], self.stdout.write, not options["without_blobs"]
        if folder is not None:
            is_linked = not options["copy"]
            manifest = backup.write(folder, purpose=self.purpose, with_blobs=with_blobs, is_linked=is_linked, say=say)
            self.record(folder, manifest)
            return
        with backup_store.one_at_a_time():
            name, manifest = backup_store.write(with_blobs=with_blobs, is_fresh=options["copy"], say=say)
            self.record(name, manifest)
            pruned = backup_store.prune(keep=settings.BACKUP_KEEP, newest=name, say=say)
            say(f"{pruned.backups} older backups and {pruned.objects:,} objects deleted")

    def record(self, name: Path | str, manifest: backup.Manifest) -> None:
        if self.purpose == "backup":  # an export is of a Larder that is about to go
            figures = {"rows": sum(manifest.rows.values()), "blobs": len(manifest.blobs)}
            record(Kind.BACKUP_WRITTEN, actor_id=None, subject="backup", with_blobs=manifest.has_blobs, **figures)
        self.stdout.write(f"{name} is complete.")


def require_url() -> None:
    if not settings.BACKUP_URL:
        raise CommandError("Name a new folder, or set LARDER_BACKUP_URL.")


@contextmanager
def refusals() -> Iterator[None]:
    """Print a sentence for what prevents a backup or a restore."""
    try:
        yield
    except FileExistsError as there:
        raise CommandError(f"{there.filename} already exists: name a new file.") from None
    except OSError as failed:
        raise CommandError(
            f"{failed.filename or 'A file'}: {failed.strerror}. Free space there, or give this process access. TMPDIR "
            "names the folder of temporary files."
        ) from None
    except RegistryError as refused:
        raise CommandError(f"{refused} {refused.hint}".strip()) from None
