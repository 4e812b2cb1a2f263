"""Copies of uploads that are received and not published yet: bytes that leave their place when they are published."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from apps.artifacts import uploads
from apps.blobs import store
from apps.blobs.care import copies
from apps.providers.docs import replacing
from apps.releases.publishing import staging
from registry_site.operations import dump

SNAPSHOTS = 20


@contextmanager
def snapshot(
    folder: Path, *, is_wanted: bool, is_linked: bool, say: Callable[[str], object]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a snapshot's alias and, by key, the digests of the staged bytes that its rows need; none unless wanted.

    The first act in a snapshot is to copy them: uploads that are received and not published yet. What is published in
    that moment takes its staged bytes along; then another snapshot is taken, in which it is published.
    """
    for left in reversed(range(SNAPSHOTS)):
        with dump.snapshot() as using:
            keys = staging.keys_in_use(using) | uploads.staging_keys(using) | replacing.staging_keys(using)
            saved = _save(folder, sorted(keys), is_linked=is_linked) if is_wanted else {}
            gone = [key for key, digest in saved.items() if not digest]
            if gone and left:
                continue
            if gone:
                say(f"{len(gone)} uploads ended while they were copied: after a restore, upload them again")
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
