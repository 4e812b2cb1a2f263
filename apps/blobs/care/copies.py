"""Copies of what is in storage, for backups: blobs by digest, staged bytes and the store's own objects by key."""

import hashlib
import os
from collections.abc import Iterator
from datetime import timedelta
from itertools import tee
from pathlib import Path

from django.utils import timezone

from apps.blobs import backends, store
from apps.lib.errors import RegistryError
from apps.lib.process import parallel

# Below these a ledger entry and an epoch are found.
LEDGER = ("ledger/module", "ledger/provider")
OWN = (*LEDGER, "epoch/0")
STEP = 1024 * 1024


class Unequal(RegistryError):
    """A copy and what is in storage differ."""


def path_of(digest: str) -> str:
    return f"sha256/{digest[:2]}/{digest}"


def own_objects() -> Iterator[tuple[str, bytes]]:
    """Yield key and bytes of each; one that goes meanwhile (an older epoch) is left out."""
    keys, same = tee(_keys(OWN))
    for key, data in zip(keys, parallel.each(store.get, same), strict=True):
        if data is not None:
            yield key, data


def ledger_keys() -> Iterator[str]:
    yield from _keys(LEDGER)


def _keys(prefixes: tuple[str, ...]) -> Iterator[str]:
    later = timezone.now() + timedelta(days=1)
    for prefix in prefixes:
        yield from backends.current().older(prefix, later)


def save_blob(digest: str, target: Path, *, is_linked: bool) -> int:
    """Copy or link a blob to a file; return its size. Raises Missing, and Unequal if the copied bytes are others."""
    backend, key = backends.current(), path_of(digest)
    source = backend.path(key)
    if is_linked and source is not None and _has_linked(source, target):
        return target.stat().st_size
    found = hashlib.sha256()
    with target.open("xb") as file:
        for part in backend.read(key, 0, None):
            found.update(part)
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    if found.hexdigest() != digest:
        raise Unequal(f"sha256:{digest} is damaged in storage: its bytes have sha256:{found.hexdigest()}.")
    return target.stat().st_size


def save_staged(key: str, target: Path, *, is_linked: bool) -> str:
    """Copy or link staged bytes to a file; return their digest. Raises Missing."""
    backend, full_key = backends.current(), f"{backends.STAGING}/{key}"
    source = backend.path(full_key)
    if not (is_linked and source is not None and _has_linked(source, target)):
        steps = backend.read(full_key, 0, None)
        with target.open("xb") as file:
            for part in steps:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
    return digest_of(target)


def _has_linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise store.Missing("The archive is not in storage.") from None
    except OSError:  # another file system
        return False
    return True


def digest_of(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def load_blob(digest: str, source: Path) -> bool:
    """Store a file's bytes as a blob; return False if it is there already. Raises Unequal."""
    backend = backends.current()
    if backend.size(path_of(digest)) == source.stat().st_size:
        return False  # its name came after its bytes
    tally = hashlib.sha256()

    def parts() -> Iterator[bytes]:
        with source.open("rb") as file:
            while part := file.read(STEP):
                tally.update(part)
                yield part

    with backend.receiving(f"{backends.STAGING}/restored-{digest}", parts()) as commit:
        if tally.hexdigest() != digest:
            raise Unequal(f"{source.name} is damaged: its bytes have sha256:{tally.hexdigest()}.")
        return commit(path_of(digest), digest)


def load_staged(key: str, source: Path) -> None:
    """Stage a file's bytes under the key unless they are there."""
    backend, full_key = backends.current(), f"{backends.STAGING}/{key}"
    if backend.size(full_key) is not None:
        return
    with source.open("rb") as file:
        backend.write(full_key, iter(lambda: file.read(STEP), b""))


def load_object(key: str, data: bytes) -> None:
    """Raises Unequal if storage has another object of that key."""
    if not store.put_once(key, data) and store.get(key) != data:
        raise Unequal(f"storage has another {key} than the backup.", hint="Does the storage belong to another Larder?")


def is_empty() -> bool:
    """Return whether storage has no blob and no ledger entry."""
    later = timezone.now() + timedelta(days=1)
    prefixes = [f"sha256/{digit}" for digit in "0123456789abcdef"] + list(LEDGER)
    return not any(True for prefix in prefixes for _ in backends.current().older(prefix, later))
