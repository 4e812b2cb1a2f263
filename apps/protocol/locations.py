"""URLs of archives (D6) and of a provider's package, sums and signature.

Clients fetch them without their token, HEAD before GET, any number of times. So public bytes have a plain URL that
caches may store, all others a URL that carries its own permission. The file name comes last: go-getter recognises a zip
by its suffix (M4).
"""

import re
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.urls import reverse
from django.utils.http import content_disposition_header

from apps.accounts.models import Namespace, Visibility
from apps.blobs import capabilities
from apps.lib.mirrored import HostedProvider, PackageLink
from apps.modules.catalogue.documents import archive_name
from apps.releases.models import Release

FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,250}(?:\.zip|_SHA256SUMS(?:\.sig)?)", re.ASCII)
_MIRROR = r"/v1/mirror/([a-z0-9.-]+)/([^/]+)/([^/]+)/([^/]+)"
_MIRRORED = re.compile(rf"{_MIRROR}/(?:([^/]+)/)?({FILE_NAME.pattern})", re.ASCII)
_PATH = re.compile(rf"/archives/(?:([^/]+)/)?([0-9a-f]{{64}})/({FILE_NAME.pattern})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of an archive's URL. `seconds`: for how long it carries its own permission; None: public bytes alone.

    `link` instead of the digest for a package of another registry, where its permission is not looked at yet.
    """

    digest: str
    file_name: str
    seconds: float | None
    link: PackageLink | None = None

    @property
    def wanted(self) -> str | PackageLink:
        return self.link or self.digest


def asked_at(url_path: str, *, now: datetime) -> Asked | None:
    """Return what the URL asks for, without the database; None where only the view can decide."""
    found = _PATH.fullmatch(url_path)
    if found is None:
        return _mirrored_at(url_path)
    capability, digest, file_name = found.groups()
    if capability is None:
        return Asked(digest, file_name, None)
    seconds = capabilities.seconds_left(capability, digest=digest, file_name=file_name, now=now)
    return Asked(digest, file_name, seconds) if seconds > 0 else None


def _mirrored_at(url_path: str) -> Asked | None:
    found = _MIRRORED.fullmatch(url_path)
    if found is None:
        return None
    host, namespace, type_, number, capability, file_name = found.groups()
    link = PackageLink(HostedProvider(host, namespace.lower(), type_.lower()), number, file_name, capability or "")
    return Asked("", file_name, 0.0 if capability else None, link)


def disposition_of(file_name: str) -> str:
    return content_disposition_header(as_attachment=True, filename=file_name) or "attachment"


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


def base_for(host: str) -> str:
    """Return the base that makes a relative URL absolute, for a request that names the public host; empty for other
    names.

    Clients resolve relative ones, Renovate does not. Through another name the public one may be out of reach.
    """
    return str(settings.PUBLIC_URL) if host == settings.PUBLIC_HOST else ""
