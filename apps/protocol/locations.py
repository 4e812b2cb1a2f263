"""URLs of archives (D6) and of a provider's package, sums and signature.

Clients fetch them without their token, HEAD before GET, any number of times. So public bytes have a plain URL that
caches may store, all others a URL that carries its own permission. The file name comes last: go-getter recognises a zip
by its suffix (M4).
"""

from datetime import datetime

from django.urls import reverse

from apps.accounts.models import Namespace, Visibility
from apps.blobs import capabilities
from apps.modules.catalogue.documents import archive_name
from apps.releases.models import Release


def location_of(release: Release, *, now: datetime) -> str:
    """The relative URL of a published archive, with the only integrity check that clients make for modules (S1)."""
    url = url_of(release.namespace, release.digest, archive_name(release.name, release.version), now=now)
    return f"{url}?checksum=sha256:{release.digest}"


def url_of(namespace: Namespace, digest: str, file_name: str, *, now: datetime) -> str:
    """The relative URL of bytes that are published in this namespace."""
    if namespace.visibility == Visibility.PUBLIC:
        return reverse("protocol:archive", args=[digest, file_name])
    capability = capabilities.sign(digest=digest, file_name=file_name, now=now)
    return reverse("protocol:archive-capability", args=[capability, digest, file_name])
