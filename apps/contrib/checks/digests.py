"""The digests of the bytes that reports can be about, in hexadecimal digits; the one to name comes first."""

from apps.provenance import subjects
from apps.releases.models import Release, ReleaseFile, State


def of_release(release: Release) -> list[str]:
    """Empty while no bytes have arrived. A module that was repacked has that of the upload as well, which its sender
    knows; a provider those of its packages and sums.
    """
    found = [release.digest, release.uploaded_digest]
    if release.state == State.PUBLISHED:
        found += [subject.sha256 for subject in subjects.of_release(release)]
    else:
        found += ReleaseFile.objects.filter(release=release).order_by("name").values_list("digest", flat=True)
    return list(dict.fromkeys(filter(None, found)))
