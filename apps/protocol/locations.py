"""Where an archive is (D6).

Clients fetch archives without their token, HEAD before GET, as often as they like. So a public archive has a plain
URL that caches may keep, any other one a URL that carries its own permission. The file name stands last, for go-getter
decides by its suffix that this is a zip (M4).
"""

from datetime import datetime

from django.urls import reverse

from apps.accounts.models import Visibility
from apps.blobs import capabilities
from apps.modules.documents import archive_name
from apps.releases.models import Release


def location_of(release: Release, *, now: datetime) -> str:
    """The relative URL of a published archive, with the only integrity check that clients make of modules (S1)."""
    file_name = archive_name(release.name, release.version)
    if release.namespace.visibility == Visibility.PUBLIC:
        url = reverse("protocol:archive", args=[release.digest, file_name])
    else:
        capability = capabilities.sign(digest=release.digest, file_name=file_name, now=now)
        url = reverse("protocol:archive-capability", args=[capability, release.digest, file_name])
    return f"{url}?checksum=sha256:{release.digest}"
