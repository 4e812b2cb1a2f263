"""A restore without its effects: the backup is read to its last byte, and nothing is written."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from apps.blobs import backends
from registry_site.operations import backup, dump
from registry_site.operations.backup import Manifest, Opened, Say, Unusable
from registry_site.startup import disk_space, restoring
from registry_site.startup.bootstrap import CannotStartError

# Of the bytes of the rows: indexes, and what SQLite writes beside the file.
DATABASE_FACTOR = 3


def rehearse(folder: Path, manifest: Manifest, opened: Opened, *, storage_survived: bool, say: Say) -> list[str]:
    """Check the backup, say what it would restore, and return what prevents it here. Raises Unusable."""
    row_bytes = _check_rows(folder, manifest)
    backup.check_blobs(folder, manifest, opened)
    say(f"The backup is whole: made at {manifest.made_at} by Larder {manifest.larder}, on {manifest.database}.")
    say(f"It would restore {sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables,")
    if manifest.has_blobs:
        say(f"{len(manifest.blobs):,} blobs with {sum(manifest.blobs.values()):,} bytes,")
    say(f"and {len(manifest.staged):,} uploads that are not published yet.")
    return list(_obstacles(folder, manifest, row_bytes, storage_survived=storage_survived))


def _check_rows(folder: Path, manifest: Manifest) -> int:
    """Return the bytes of all rows."""
    total = 0
    for table, rows in manifest.rows.items():
        found = -1  # the names of columns come first
        with gzip.open(folder / "tables" / f"{table}.jsonl.gz") as lines:
            for line in lines:
                found += 1
                total += len(line)
        if found != rows:
            raise Unusable(f"{folder} is damaged: {table} has {found} rows, expected {rows}.")
    return total


def _obstacles(folder: Path, manifest: Manifest, row_bytes: int, *, storage_survived: bool) -> Iterator[str]:
    try:
        dump.nodes_of(manifest.migrations, MigrationLoader(None))
    except CannotStartError as refused:
        yield str(refused)
    for refusal in backup.in_use(folder, storage_survived=storage_survived):
        yield f"{refusal} {refusal.hint}"
    yield from disk_space.lacking(_needs(folder, manifest, row_bytes))


def require_room(folder: Path, manifest: Manifest) -> None:
    """Raise Unusable if a restore would fill a disk of this host. One that continues has its room already."""
    if restoring.begun()[0]:
        return
    row_bytes = _check_rows(folder, manifest) if connection.vendor == "sqlite" else 0
    if lacking := list(disk_space.lacking(_needs(folder, manifest, row_bytes))):
        raise Unusable(" ".join(lacking), hint="Nothing was changed.")


def _needs(folder: Path, manifest: Manifest, row_bytes: int) -> Iterator[tuple[Path, int]]:
    """Yield folders of this host and how many bytes each takes."""
    stored = backends.current().path(f"{backends.STAGING}/any")
    if stored is not None:
        staged = sum((folder / backup.STAGING / key).stat().st_size for key in manifest.staged)
        yield stored, staged + (sum(manifest.blobs.values()) if manifest.has_blobs else 0)
    if connection.vendor == "sqlite":
        yield Path(settings.DATABASES["default"]["NAME"]), DATABASE_FACTOR * row_bytes
