"""Staged bytes of a release: the upload, which several releases may share, its repacked zip, a draft's files.

A release that starts from a blob has none.
"""

from typing import BinaryIO

from apps.blobs import store
from apps.releases.models import WORKING, Release, Stored


def open_source(release: Release) -> BinaryIO:
    """Return a real file at position 0; the caller closes it. Raises Missing, DamagedInStorage."""
    source = release.source
    return store.open_blob(source.digest) if isinstance(source, Stored) else store.open_staged(source.key)


def repacked_key(release: Release) -> str:
    """Return the staging key of the zip that a worker made from the upload for this release."""
    return f"{release.staging_key}.{release.pk}.zip"


def discard(release: Release) -> None:
    """Delete the staged bytes of a release that has ended. Safe to repeat.

    Several releases may share an upload: the last one deletes it. Each checks after it has ended, so that of two that
    end at once at least one sees no other.
    """
    if isinstance(release.source, Stored):
        return
    store.discard_staged(repacked_key(release))
    for key in release.files.values_list("staging_key", flat=True):
        store.discard_staged(key)
    sharing = Release.objects.filter(staging_key=release.staging_key, state__in=WORKING).exclude(pk=release.pk)
    if not sharing.exists():
        store.discard_staged(release.staging_key)
