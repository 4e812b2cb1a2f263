"""What is staged for a release: the upload, which several releases may share, its own repacked zip, a draft's files."""

from apps.blobs import store
from apps.releases.models import WORKING, Release


def repacked_key(release: Release) -> str:
    """Where the worker puts the zip that it made of the upload for this release."""
    return f"{release.staging_key}.{release.pk}.zip"


def drop(release: Release) -> None:
    """Delete what is staged for a release that has ended; again and again does no harm.

    One upload may hold several modules: its bytes go with the last release that still needs them. Each looks after it
    has ended, so of two that end at once at least one sees nobody left.
    """
    store.discard_staged(repacked_key(release))
    for key in release.files.values_list("staging_key", flat=True):
        store.discard_staged(key)
    sharing = Release.objects.filter(staging_key=release.staging_key, state__in=WORKING).exclude(pk=release.pk)
    if not sharing.exists():
        store.discard_staged(release.staging_key)
