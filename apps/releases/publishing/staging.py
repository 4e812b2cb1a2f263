"""Staged bytes of a release: the upload, which several releases may share, its repacked zip, a draft's files.

A release that starts from a blob has none.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import BinaryIO

from apps.blobs import store
from apps.lib.archives.rules.outcome import Refusal
from apps.lib.digests import DigestMismatch, verified
from apps.releases.models import WORKING, Release, ReleaseFile, State, Stored, Upload, UploadPart

READ_BYTES = 1024 * 1024


def open_source(release: Release) -> BinaryIO:
    """Return a real file at position 0; the caller closes it. Raises Missing, DamagedInStorage."""
    source = release.source
    return store.open_blob(source.digest) if isinstance(source, Stored) else store.open_staged(source.key)


@contextmanager
def refusing_only(staged: BinaryIO, *, digest: str, what: str) -> Iterator[None]:
    """Let a Refusal of the block through if `staged` is what was received, by its digest. Raises Damaged if not.

    Storage that once returns other bytes must not end a good upload: the next attempt reads them again.
    """
    try:
        yield
    except Refusal:
        staged.seek(0)
        try:
            for _ in verified(iter(partial(staged.read, READ_BYTES), b""), digest):
                pass
        except DigestMismatch:
            raise store.Damaged(f"The staged bytes of {what} differ from those received.") from None
        raise


def repacked_key(release: Release) -> str:
    """Return the staging key of the zip that a worker made from the upload for this release."""
    return f"{release.staging_key}.{release.pk}.zip"


def keys_in_use(using: str) -> set[str]:
    """Return the staging keys of the bytes whose arrival was reported to a client, as that database has them."""
    accepted = [state for state in WORKING if state != State.RECEIVING]
    uploads = Release.objects.using(using).filter(state__in=accepted, files=None).exclude(staging_key="")
    files = ReleaseFile.objects.using(using).filter(release__state__in=WORKING)
    parts = UploadPart.objects.using(using).filter(upload__finished_at=None)
    return {key for rows in (uploads, files, parts) for key in rows.values_list("staging_key", flat=True)}


def discard(release: Release) -> None:
    """Delete the staged bytes of a release that has ended. Safe to repeat.

    Several releases may share an upload: the last one deletes it. Each checks after it has ended, so that of two that
    end at once at least one sees no other.
    """
    if isinstance(release.source, Stored):
        return
    store.discard_staged(repacked_key(release))
    unfinished = Upload.objects.filter(release=release, finished_at=None)
    for key in UploadPart.objects.filter(upload__in=unfinished).values_list("staging_key", flat=True):
        store.discard_staged(key)
    unfinished.delete()
    for key in release.files.values_list("staging_key", flat=True):
        store.discard_staged(key)
    sharing = Release.objects.filter(staging_key=release.staging_key, state__in=WORKING).exclude(pk=release.pk)
    if not sharing.exists():
        store.discard_staged(release.staging_key)
