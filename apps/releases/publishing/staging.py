"""What is staged for a release: the upload, which several releases may share, its own repacked zip, a draft's files.

Nothing is staged for a release that begins with a blob.
"""

from typing import BinaryIO

from apps.blobs import store
from apps.releases.models import WORKING, Release, Stored


def open_source(release: Release) -> BinaryIO:
    """A real file at its begin; the caller closes it. Raises Missing, DamagedInStorage."""
    source = release.source
    return store.open_blob(source.digest) if isinstance(source, Stored) else store.open_staged(source.key)


def repacked_key(release: Release) -> str:
    """Where the worker puts the zip that it made of the upload for this release."""
    return f"{release.staging_key}.{release.pk}.zip"


def drop(release: Release) -> None:
    """Delete what is staged for a release that has ended; again and again does no harm.

    One upload may hold several modules: its bytes go with the last release that still needs them. Each looks after it
    has ended, so of two that end at once at least one sees nobody left.
    """
    if isinstance(release.source, Stored):
        return
    store.discard_staged(repacked_key(release))
    for key in release.files.values_list("staging_key", flat=True):
        store.discard_staged(key)
    sharing = Release.objects.filter(staging_key=release.staging_key, state__in=WORKING).exclude(pk=release.pk)
    if not sharing.exists():
        store.discard_staged(release.staging_key)
