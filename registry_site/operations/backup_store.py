"""Backups at LARDER_BACKUP_URL: each is the folder of backup.py, object by object, and all share their blobs.

    backups/<time>/…               tables, ledger, staged uploads; manifest.json last: without it there is no backup
    backups/<time>/contents.json   what belongs to it, readable without a key, so that old backups can be deleted
    blobs/<recipients>/sha256/…    each blob once for all backups with the same recipients

With recipients every other object is encrypted to them and its name ends in `.gpg`: this host reads no backup again.
"""

import json
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from apps.blobs import backends
from apps.blobs.care import copies
from apps.lib.errors import RegistryError
from apps.signing import file_encryption
from registry_site.operations import authenticity, backup
from registry_site.operations.backup import MANIFEST, Manifest, Opened, Say, Unusable
from registry_site.startup import bootstrap

BACKUPS, BLOBS, CONTENTS, SEALED = "backups", "blobs", "contents.json", ".gpg"
STEP = 1024 * 1024
_NAME = re.compile(rf"{BACKUPS}/([^/]+)/")
_MANIFEST = re.compile(rf"{BACKUPS}/([^/]+)/{re.escape(MANIFEST)}({re.escape(SEALED)})?")
NEWEST = "newest"
_WHENEVER = datetime.max.replace(tzinfo=UTC)
SCRATCH = "larder-backup-"
# Older temporary files belong to a backup that was killed: a running one writes all the time.
SCRATCH_LIFETIME = timedelta(days=1)


class StoreFailed(RegistryError):
    """The storage of backups, and not Larder's own, is away, refuses, or is full."""


class _Lost(StoreFailed):
    """An object is missing."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The keys of one backup besides its manifest's and this one's."""

    files: list[str]
    blobs: list[str]


@dataclass(slots=True)
class Pruned:
    backups: int = 0
    objects: int = 0


def write(*, with_blobs: bool, is_fresh: bool, say: Say) -> tuple[str, Manifest]:
    """Write a backup and return its name. Raises Unusable, StoreFailed, EncryptionFailed, StorageUnavailable, Unequal.

    `is_fresh`: send every blob, also those that the store has.
    """
    with ExitStack() as stack:
        keys = None
        if settings.BACKUP_RECIPIENT_FILE:
            keys = stack.enter_context(file_encryption.recipients(Path(settings.BACKUP_RECIPIENT_FILE)))
        else:
            say("Not encrypted: LARDER_BACKUP_RECIPIENT_FILE is not set.")
        _sweep()
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=SCRATCH)))
        return _Writing(scratch, keys, set() if is_fresh else set(_keys(BLOBS)), say).write(with_blobs=with_blobs)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Around `write` and `prune`: the latter deletes what another backup may rely on. Raises Unusable."""
    try:
        bootstrap.data_folder(settings.DATA_DIR)
        with bootstrap.one_backup_at_a_time(settings.DATA_DIR):
            yield
    except bootstrap.CannotStartError as refused:
        raise Unusable(str(refused)) from None


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with suppress(OSError):  # somebody else's
            if folder.stat().st_mtime < (timezone.now() - SCRATCH_LIFETIME).timestamp():
                shutil.rmtree(folder)


def _new_name() -> str:
    """Return the time, by which backups are ordered. One that exists already is never written into."""
    taken = {key.split("/")[1] for key in _keys(BACKUPS)}
    while (name := f"{timezone.now():%Y-%m-%dT%H%M%SZ}") in taken:
        time.sleep(0.1)
    return name


class _Writing:
    def __init__(self, scratch: Path, keys: file_encryption.Recipients | None, known: set[str], say: Say) -> None:
        self.scratch, self.keys, self.known, self.say = scratch, keys, known, say
        self.name = _new_name()
        self.suffix = SEALED if keys else ""
        self.blobs = f"{BLOBS}/{keys.id if keys else 'plain'}"
        self.sent: list[str] = []

    def write(self, *, with_blobs: bool) -> tuple[str, Manifest]:
        folder = self.scratch / "backup"
        manifest = backup.write(
            folder, purpose="backup", with_blobs=with_blobs, is_linked=True, say=self.say, keep=self.keep
        )
        self.say(f"{len(self.sent):,} of the blobs are new")
        files = [*manifest.checksums, authenticity.FILE, *(f"{backup.STAGING}/{key}" for key in manifest.staged)]
        for name in files:
            self.send(folder / name, f"{BACKUPS}/{self.name}/{name}{self.suffix}")
        contents = Contents(
            [f"{BACKUPS}/{self.name}/{name}{self.suffix}" for name in files],
            [self.key_of(digest) for digest in manifest.blobs if manifest.has_blobs],
        )
        if lost := (set(contents.files) - set(_keys(BACKUPS))) | (set(contents.blobs) - set(_keys(BLOBS))):
            raise StoreFailed(
                f"LARDER_BACKUP_URL lost {len(lost)} objects while the backup was written: {min(lost)}.",
                hint="Does a rule of the bucket, or another Larder, delete there? Each Larder needs its own prefix.",
            )
        with _of_store():
            _store().write(f"{BACKUPS}/{self.name}/{CONTENTS}", [json.dumps(asdict(contents)).encode()])
        self.send(folder / MANIFEST, f"{BACKUPS}/{self.name}/{MANIFEST}{self.suffix}")
        return self.name, manifest

    def key_of(self, digest: str) -> str:
        return f"{self.blobs}/{copies.path_of(digest)}{self.suffix}"

    def keep(self, digest: str) -> None:
        """Called in threads. Raises Missing, Unequal, and what `send` raises."""
        if (key := self.key_of(digest)) in self.known:
            return
        plain = self.scratch / digest
        plain.unlink(missing_ok=True)
        copies.save_blob(digest, plain, is_linked=False)
        self.send(plain, key)
        plain.unlink()
        self.known.add(key)
        self.sent.append(key)

    def send(self, plain: Path, key: str) -> None:
        source = plain
        if self.keys:
            source = self.scratch / f"{plain.name}{SEALED}"
            self.keys.encrypt(plain, source)
        with source.open("rb") as file, _of_store():
            _store().write(key, iter(lambda: file.read(STEP), b""))
        if self.keys:
            source.unlink()


# --- What is there ---------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """Return the complete backups, the oldest first."""
    return _names(set(_keys(BACKUPS)))


def _names(keys: set[str]) -> list[str]:
    found = {manifest[1] for key in keys if (manifest := _MANIFEST.fullmatch(key))}
    return sorted(name for name in found if f"{BACKUPS}/{name}/{CONTENTS}" in keys)


def prune(*, keep: int, newest: str, say: Say) -> Pruned:
    """Delete what only backups need that are older than the last `keep` whole ones. `newest` stays in any case.

    Whatever belongs to no backup goes as well: parts of one that was interrupted. A backup that lacks an object does
    not count as one to keep, so the last whole one is never deleted.
    """
    files, blobs = set(_keys(BACKUPS)), set(_keys(BLOBS))
    contents = {name: _contents(name) for name in _names(files)}
    whole = [name for name, one in contents.items() if files >= set(one.files) and blobs >= set(one.blobs)]
    for name in contents.keys() - set(whole):
        say(f"{name} lacks objects and cannot be restored: it does not count as a backup to keep.")
    oldest = min([newest, *whole[-keep:]])
    kept = {name for name in contents if name >= oldest}
    needed = {key for name in kept for key in contents[name].blobs}
    gone = {key for key in files if not (found := _NAME.match(key)) or found[1] not in kept}
    # Manifests first: what is half deleted is no backup.
    with _of_store():
        for key in sorted(gone, key=lambda key: not _MANIFEST.fullmatch(key)):
            _store().delete(key)
        for key in blobs - needed:
            _store().delete(key)
        _store().drop_older(backends.STAGING, timezone.now() - timedelta(days=1))
    return Pruned(len(contents.keys() - kept), len(gone) + len(blobs - needed))


def _contents(name: str) -> Contents:
    """Raises Unusable, also for keys that lead elsewhere."""
    try:
        found = Contents(**json.loads(_bytes(f"{BACKUPS}/{name}/{CONTENTS}")))
        for keys, start in ((found.files, f"{BACKUPS}/{name}/"), (found.blobs, f"{BLOBS}/")):
            if not all(backends.checked(key).startswith(start) for key in keys):
                raise ValueError("a key of something else")
    except (ValueError, TypeError):
        raise Unusable(
            f"{CONTENTS} of the backup {name} cannot be read.",
            hint=f"If another backup is good, delete {BACKUPS}/{name}/ below LARDER_BACKUP_URL.",
        ) from None
    return found


# --- Back from there -------------------------------------------------------------------------------------------------


@contextmanager
def fetched(name: str, private_key: Path | None, *, may_be_plain: bool, say: Say) -> Iterator[tuple[Path, Opened]]:
    """Yield a temporary folder with all of a backup but its blobs, and what opens these one by one.

    `may_be_plain`: accept one that is not encrypted where LARDER_BACKUP_RECIPIENT_FILE is set. Raises Unusable,
    StoreFailed, EncryptionFailed.
    """
    known = names()
    if name == NEWEST and known:
        name = known[-1]
    if name not in known:
        raise Unusable(f"LARDER_BACKUP_URL has no complete backup {name}.", hint="List them: manage.py backup --list")
    contents = _contents(name)
    is_sealed = f"{BACKUPS}/{name}/{MANIFEST}{SEALED}" in set(_keys(f"{BACKUPS}/{name}"))
    if settings.BACKUP_RECIPIENT_FILE and not (is_sealed or may_be_plain):
        raise Unusable(
            f"The backup {name} is not encrypted, and LARDER_BACKUP_RECIPIENT_FILE is set.",
            hint="Restore one that is (manage.py backup --list). Add --plain if it was written before that was set.",
        )
    say(f"{name}{', encrypted' if is_sealed else ''}")
    with (
        tempfile.TemporaryDirectory(prefix="larder-restore-") as temporary,
        file_encryption.private_keys(private_key) if is_sealed else nullcontext() as keys,
    ):
        scratch = Path(temporary)
        folder = scratch / name
        for key in [*contents.files, f"{BACKUPS}/{name}/{MANIFEST}{SEALED if is_sealed else ''}"]:
            target = folder / key.removeprefix(f"{BACKUPS}/{name}/").removesuffix(SEALED if keys else "")
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _fetch(key, target, keys)
        # A person is asked for one passphrase at a time.
        turn = threading.Lock() if is_sealed and private_key is None else nullcontext()
        by_digest = {key.rpartition("/")[2].removesuffix(SEALED): key for key in contents.blobs}

        @contextmanager
        def opened(digest: str) -> Iterator[Path]:
            plain = scratch / digest
            if digest in by_digest:
                with turn:
                    _fetch(by_digest[digest], plain, keys)
            yield plain
            plain.unlink(missing_ok=True)

        yield folder, opened


def _fetch(key: str, target: Path, keys: file_encryption.PrivateKeys | None) -> None:
    source = target.with_name(f"{target.name}{SEALED}") if keys else target
    try:
        with source.open("wb") as out, _of_store():
            for part in _store().read(key, 0, None):
                out.write(part)
    except _Lost:
        raise Unusable(
            f"LARDER_BACKUP_URL has lost {key}.",
            hint="Restore another backup (manage.py backup --list). The next backup sends a lost blob again.",
        ) from None
    if keys:
        keys.decrypt(source, target)
        source.unlink()


# --- Access ----------------------------------------------------------------------------------------------------------


def _store() -> backends.Backend:
    return backends.at(settings.BACKUP_URL)


def _keys(prefix: str) -> list[str]:
    with _of_store():
        return [key for key in _store().older(prefix, _WHENEVER) if key.startswith(f"{prefix}/")]


def _bytes(key: str) -> bytes:
    with _of_store():
        return b"".join(_store().read(key, 0, None))


@contextmanager
def _of_store() -> Iterator[None]:
    """Name the storage of backups, so that no one looks at Larder's own."""
    try:
        yield
    except backends.StorageUnavailable as failed:
        raise StoreFailed(
            f"The storage of LARDER_BACKUP_URL failed: {failed}",
            hint="Check that it exists, has room, and that the credentials of this process may list, read, write and "
            "delete there. Then run the command again.",
        ) from failed
    except backends.Missing:
        raise _Lost("An object of LARDER_BACKUP_URL was deleted meanwhile.", hint="Run it again.") from None
