"""Staged bytes in a backup: uploads that are received and not published when it is made.

The first thing that a backup does in its snapshot is to copy them. What is published in that moment takes its staged
bytes along; then another snapshot is taken, in which it is published.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.artifacts import uploads
from apps.blobs import store
from apps.blobs.care import copies
from apps.providers.docs import replacing
from apps.releases.publishing import staging
from registry_site.operations import dump

FOLDER = "staging"
SNAPSHOTS = 20


@contextmanager
def snapshot(
    folder: Path, *, is_wanted: bool, is_linked: bool, say: Callable[[str], None]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a snapshot's alias and, by key, the digests of the staged bytes that its rows need.

    Unless they are wanted there are none.
    """
    for left in reversed(range(SNAPSHOTS)):
        with dump.snapshot() as using:
            keys = staging.keys_in_use(using) | uploads.staging_keys(using) | replacing.staging_keys(using)
            saved = _save(folder / FOLDER, sorted(keys), is_linked=is_linked) if is_wanted else {}
            gone = [key for key, digest in saved.items() if not digest]
            if gone and left:
                continue
            if gone:
                say(f"{len(gone)} uploads ended while they were copied: in a restore, upload them again")
            yield using, {key: digest for key, digest in saved.items() if digest}
            return


def _save(folder: Path, keys: list[str], *, is_linked: bool) -> dict[str, str]:
    """Copy each and return its digest, or an empty one if it is gone."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for old in folder.iterdir():  # of an earlier snapshot
        if old.name not in keys:
            old.unlink()
    saved = {}
    for key in keys:
        target = folder / key
        try:
            saved[key] = (
                copies.digest_of(target) if target.exists() else copies.save_staged(key, target, is_linked=is_linked)
            )
        except store.Missing:
            target.unlink(missing_ok=True)
            saved[key] = ""
    return saved


def is_whole(folder: Path, saved: dict[str, str]) -> bool:
    files = {key: folder / FOLDER / key for key in saved}
    return all(file.is_file() and copies.digest_of(file) == saved[key] for key, file in files.items())


def load(folder: Path, saved: dict[str, str]) -> None:
    for key in saved:
        copies.load_staged(key, folder / FOLDER / key)
