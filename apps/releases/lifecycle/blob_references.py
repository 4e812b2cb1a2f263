"""References from releases to blobs, for `blobs.references`."""

from django.db.models import Exists, OuterRef, Q

from apps.releases.models import WORKING, Release, ReleaseBlob, State

_LIVING = [*WORKING, State.PUBLISHED]


def referenced_by_release() -> Q:
    """Match blobs of releases that are published or may be: digests are recorded before the bytes are stored."""
    whole = Release.objects.filter(digest=OuterRef("digest"), state__in=_LIVING)
    part = ReleaseBlob.objects.filter(digest=OuterRef("digest"), release__state__in=_LIVING)
    return Q(Exists(whole)) | Q(Exists(part))
