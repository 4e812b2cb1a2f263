"""A backup is a folder: the rows of every table, blobs, staged uploads, the ledger, a manifest with all checksums.

`manifest.json` comes last, so that a folder without one is no backup. The rows are those of one moment, and blobs never
change, so a backup is whole however much is published meanwhile. Secret key and key-encryption key are in a file of
their own, and only if it is asked for.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.utils import timezone

from apps.blobs import backends, store
from apps.blobs.care import copies, runs
from apps.blobs.models import Blob, State
from apps.lib.errors import RegistryError
from apps.lib.process import parallel
from apps.lib.process.progress import Progress
from registry_site import env
from registry_site.operations import authenticity, dump, staged_copies
from registry_site.server.files import replace
from registry_site.startup import bootstrap, disk_space, restoring

FORMAT = 1
MANIFEST, OBJECTS, STAGING = "manifest.json", "objects.jsonl", "staging"
TRIES = 3
KEYS = {"secret_key": "LARDER_SECRET_KEY_FILE", "kek": "LARDER_SIGNING_KEK_FILE"}
Say = Callable[[str], None]
# By its digest: keeps a blob, or raises store.Missing; and gives its bytes as a file. Both are called in threads.
Keep = Callable[[str], object]
Opened = Callable[[str], AbstractContextManager[Path]]


class Unusable(RegistryError):
    """A folder that is no backup, not whole, or that must not be used here."""


class _Purged(Exception):
    """A version was purged after its rows were read."""


@dataclass(slots=True)
class Manifest:
    made_at: str
    larder: str
    purpose: str  # backup or export
    database: str
    migrations: dict[str, str]
    last_numbers: dict[str, int]
    rows: dict[str, int] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)  # sha256 by file name
    blobs: dict[str, int] = field(default_factory=dict)  # size by digest
    staged: dict[str, str] = field(default_factory=dict)  # sha256 by key
    has_blobs: bool = True
    format: int = FORMAT


def recorded(purpose: str) -> AbstractContextManager[None]:
    """Use it around a whole backup: /metrics tell its age and result. An export is of a Larder that is about to go."""
    return runs.recorded(runs.What.BACKUP) if purpose == "backup" else nullcontext()


def write(
    folder: Path, *, purpose: str, with_blobs: bool, is_linked: bool, say: Say, keep: Keep | None = None
) -> Manifest:
    """Write a backup into an empty or new folder, its blobs elsewhere if `keep` takes them.

    Raises Unusable, and StorageUnavailable.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Unusable(f"{folder} is not empty.", hint="Name a new folder: each backup has its own.")
    for left in reversed(range(TRIES)):
        manifest = _rows(folder, purpose=purpose, with_blobs=with_blobs, is_linked=is_linked, say=say)
        say(f"{sum(manifest.rows.values()):,} rows of {len(manifest.rows)} tables")
        if with_blobs and keep is None:
            _require_room(folder, manifest, is_linked=is_linked)
        try:
            _blobs(manifest, with_blobs=with_blobs, keep=keep or _into(folder, is_linked=is_linked))
        except _Purged as purged:
            if not left:
                raise Unusable(f"{purged} was purged during each attempt to copy it.") from None
            say(f"{purged} was purged in the meantime: reading the rows again")
        else:
            break
    what = "" if with_blobs else ", which are not copied"
    say(f"{len(manifest.blobs):,} blobs with {sum(manifest.blobs.values()):,} bytes{what}")
    if with_blobs:
        say(f"{len(manifest.staged):,} uploads that are not published yet")
    with (folder / OBJECTS).open("w", encoding="utf-8") as out:
        for key, data in Progress("ledger entries", len(manifest.blobs)).over(copies.own_objects()):
            out.write(json.dumps([key, data.decode()]) + "\n")
    files = [OBJECTS, *map(_file_of, manifest.rows)]
    manifest.checksums = {name: copies.digest_of(folder / name) for name in files}
    text = json.dumps(asdict(manifest), indent=1).encode()
    replace(folder / authenticity.FILE, authenticity.proof_of(text), mode=0o600)
    replace(folder / MANIFEST, text, mode=0o600)
    return manifest


def _rows(folder: Path, *, purpose: str, with_blobs: bool, is_linked: bool, say: Say) -> Manifest:
    tables = folder / "tables"
    tables.mkdir(mode=0o700, exist_ok=True)
    moment = staged_copies.snapshot(folder / STAGING, is_wanted=with_blobs, is_linked=is_linked, say=say)
    with moment as (using, saved):
        manifest = Manifest(
            made_at=timezone.now().isoformat(),
            larder=settings.VERSION,
            purpose=purpose,
            database=connection.vendor,
            migrations=dump.migrations(),
            last_numbers=dump.last_numbers(using),
            staged=saved,
        )
        found = dump.tables_of(apps)
        progress = Progress("rows", dump.count(found.values(), using))
        for table, model in found.items():
            manifest.rows[table] = dump.write_table(model, folder / _file_of(table), using, progress)
        ready = Blob.objects.using(using).filter(state=State.READY)
        manifest.blobs = dict(ready.order_by("digest").values_list("digest", "size"))
    return manifest


def _require_room(folder: Path, manifest: Manifest, *, is_linked: bool) -> None:
    """Raise Unusable unless copies of the blobs have room; hard links need none."""
    stored = backends.current().path("sha256")
    if is_linked and stored is not None and stored.exists() and stored.stat().st_dev == folder.stat().st_dev:
        return
    if lacking := list(disk_space.lacking([(folder, sum(manifest.blobs.values()))])):
        raise Unusable(" ".join(lacking), hint=f"Name a folder with more room, and delete {folder}.")


def _file_of(table: str) -> str:
    return f"tables/{table}.jsonl.gz"


def _into(folder: Path, *, is_linked: bool) -> Keep:
    def keep(digest: str) -> None:
        target = folder / "blobs" / copies.path_of(digest)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if target.exists():
            return
        try:
            copies.save_blob(digest, target, is_linked=is_linked)
        except store.Missing:
            target.unlink(missing_ok=True)
            raise

    return keep


def _blobs(manifest: Manifest, *, with_blobs: bool, keep: Keep) -> None:
    manifest.has_blobs = with_blobs

    def is_kept(digest: str) -> bool:
        try:
            keep(digest)
        except store.Missing:
            return False
        return True

    digests = list(manifest.blobs) if with_blobs else []
    results = zip(digests, parallel.each(is_kept, digests), strict=True)
    for digest, was_there in Progress("copied blobs", len(digests)).over(results):
        if not was_there:
            if Blob.objects.filter(digest=digest, state=State.READY).exists():
                raise Unusable(
                    f"sha256:{digest} is not in storage.", hint="Run `manage.py check_storage --whole` first."
                ) from None
            raise _Purged(f"sha256:{digest}") from None


def read_manifest(folder: Path, *, secret_keys: list[str], is_trusted: bool, say: Say) -> Manifest:
    """Raises Unusable unless the folder is a backup of a Larder with one of the keys, with its files as they were.

    `is_trusted`: the operator answers for who wrote it.
    """
    try:
        text = (folder / MANIFEST).read_bytes()
    except FileNotFoundError:
        raise Unusable(f"{folder} has no {MANIFEST}: it is not a backup, or is an unfinished one.") from None
    # Before a byte of it is believed.
    if problem := authenticity.problem_with(text, folder / authenticity.FILE, secret_keys):
        if not is_trusted:
            raise Unusable(
                f"{folder} does not prove that this Larder wrote it: {problem}.",
                hint="Name the keys that it was written with (--keys FILE, or LARDER_SECRET_KEY_FILE with the older "
                "line). If you know otherwise where it comes from, add --unauthenticated.",
            )
        say(f"Not authenticated: {problem}. You answer for who wrote it.")
    try:
        found: dict[str, Any] = json.loads(text)
        manifest = Manifest(**found)
    except (ValueError, TypeError):
        raise Unusable(f"{folder / MANIFEST} cannot be read.") from None
    if manifest.format != FORMAT:
        raise Unusable(f"{folder} has format {manifest.format}, expected {FORMAT}.", hint="Use a newer Larder.")
    if unproven := {OBJECTS, *map(_file_of, manifest.rows)} - manifest.checksums.keys():
        raise Unusable(f"{folder / MANIFEST} has no checksum of {min(unproven)}.")
    for name, checksum in manifest.checksums.items():
        if not (folder / name).is_file():
            raise Unusable(f"{folder} is incomplete: {name} is missing.")
        if copies.digest_of(folder / name) != checksum:
            raise Unusable(f"{folder} is damaged: {name} was changed.")
    return manifest


def blobs_in(folder: Path) -> Opened:
    return lambda digest: nullcontext(folder / "blobs" / copies.path_of(digest))


def check_blobs(folder: Path, manifest: Manifest, opened: Opened) -> None:
    """Raises Unusable unless every blob of the backup has the bytes of its digest."""

    def check(digest: str) -> None:
        with opened(digest) as file:
            if not file.is_file() or copies.digest_of(file) != digest:
                raise Unusable(f"{folder} is {'damaged' if file.is_file() else 'not whole'}: sha256:{digest}.")

    _for_each_blob(manifest, check, "checked blobs")
    staged = {key: folder / STAGING / key for key in manifest.staged}
    if not all(file.is_file() and copies.digest_of(file) == manifest.staged[key] for key, file in staged.items()):
        raise Unusable(f"{folder} is damaged or incomplete: {STAGING}.")


def _for_each_blob(manifest: Manifest, act: Callable[[str], None], what: str) -> None:
    if manifest.has_blobs:
        for _ in Progress(what, len(manifest.blobs)).over(parallel.each(act, manifest.blobs)):
            pass


def in_use(folder: Path, *, storage_survived: bool) -> Iterator[Unusable]:
    """Yield what prevents a restore: a database or storage that has anything but an earlier try of the same one."""
    number = _number_of(folder)
    begun, _ = restoring.begun()
    if begun not in ("", number):
        yield Unusable(
            "The restore of another backup to the database of LARDER_DATABASE_URL has begun and not ended.",
            hint="Repeat that one, or restore into an empty database and an empty storage.",
        )
    elif not begun and not dump.is_empty():
        yield Unusable("The database of LARDER_DATABASE_URL is in use.", hint="Restore into an empty one.")
    if not storage_survived and not copies.is_empty() and restoring.begun_in_storage() != number:
        yield Unusable(
            "The storage of LARDER_STORAGE_URL is in use.",
            hint="Restore into an empty one; or add --storage-survived if it is the storage of this Larder.",
        )


def _number_of(folder: Path) -> str:
    return copies.digest_of(folder / MANIFEST)


def load(folder: Path, manifest: Manifest, opened: Opened, *, storage_survived: bool, say: Say) -> None:
    """Fill this Larder, which must be stopped, and empty except for an earlier try. `restoring.end` is the caller's.

    Raises Unusable, CannotStartError, Unequal.
    """
    for refusal in in_use(folder, storage_survived=storage_survived):
        raise refusal
    check_blobs(folder, manifest, opened)
    if restoring.begun()[0]:
        say("Continuing a restore of this backup that did not end.")
    restoring.begin(_number_of(folder), in_storage=not storage_survived)
    _load_blobs(manifest, opened)
    for key in manifest.staged:
        copies.load_staged(key, folder / STAGING / key)
    say(f"{len(manifest.blobs):,} blobs, {len(manifest.staged):,} uploads that are not published yet")
    _load_objects(folder / OBJECTS)
    rows = sum(manifest.rows.values())
    dump.load(folder / "tables", manifest.migrations, manifest.last_numbers, rows=rows)
    say(f"{rows:,} rows of {len(manifest.rows)} tables")


def _load_blobs(manifest: Manifest, opened: Opened) -> None:
    def load_one(digest: str) -> None:
        with opened(digest) as file:
            copies.load_blob(digest, file)

    _for_each_blob(manifest, load_one, "restored blobs")


def _load_objects(file: Path) -> None:
    """In threads, as with blobs: each waits until the disk has it."""

    def load_one(line: str) -> None:
        key, text = json.loads(line)
        copies.load_object(key, text.encode())

    with file.open(encoding="utf-8") as lines:
        total = sum(1 for _ in lines)
        lines.seek(0)
        for _ in Progress("ledger entries", total).over(parallel.each(load_one, lines)):
            pass


# --- Keys ------------------------------------------------------------------------------------------------------------


def key_files() -> dict[str, Path]:
    return {
        "secret_key": env.folder("LARDER_SECRET_KEY_FILE", settings.DATA_DIR / "secret_key"),
        "kek": settings.SIGNING_KEK_FILE,
    }


def save_keys(file: Path) -> list[str]:
    """Write the keys that this host can read to a new file with mode 0600; return their names."""
    found = {name: path.read_text() for name, path in key_files().items() if path.is_file()}
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(found, out)
        out.flush()
        os.fsync(out.fileno())
    return list(found)


def load_keys(file: Path) -> list[str]:
    """Put the keys where this host reads them. Raises Unusable if another key is there."""
    found, places = check_keys(file), key_files()
    for name, text in found.items():
        places[name].parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace(places[name], text.encode(), mode=0o600)
    return list(found)


def check_keys(file: Path) -> dict[str, str]:
    """Return the keys that `load_keys` would put in place. Raises what it raises."""
    try:
        found: dict[str, str] = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise Unusable(f"{file} cannot be read: {error}.") from None
    places = key_files()
    for name, text in found.items():
        if places[name].is_file() and places[name].read_text() != text:
            raise Unusable(f"{places[name]} has another key than {file}.", hint=f"Move it away, or set {KEYS[name]}.")
    return found


@contextmanager
def owner_only() -> Iterator[None]:
    """Give files mode 0600 and folders 0700, parents included. The umask is the process's: only for commands."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def stopped() -> Iterator[None]:
    """Nothing else uses the data folder meanwhile. Raises CannotStartError."""
    bootstrap.data_folder(settings.DATA_DIR)
    with bootstrap.only_one(settings.DATA_DIR), bootstrap.one_host_at_a_time():
        yield
