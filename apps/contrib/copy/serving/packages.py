"""Bytes at addresses that follow from coordinates: one rule of a web server names them, and caches find them again.

They are those of the static copy (`tree/layout.py`). Without a copy Larder answers them too, with the reader's token
where the bytes are not public. Its own documents name links that carry their permission (D6).
"""

from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.http.response import HttpResponseBase
from django.urls import path, re_path
from rest_framework.request import Request

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Namespace, Visibility
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import CredentialsRequired, NotFound
from apps.modules.catalogue import reading as module_reading
from apps.modules.catalogue.documents import archive_name
from apps.protocol import mirror_v1
from apps.protocol.archives import ArchiveView, archive_response
from apps.protocol.base import Unknown
from apps.providers import reading as provider_reading
from apps.providers.documents import sums_name
from apps.releases.models import Release

Found = TypeVar("Found")


class PackageView(ArchiveView):
    def read(self, reading: Callable[[Viewer], Found]) -> Found:
        """Read as anyone first: a token that is wrong takes nothing public away (`perform_authentication`)."""
        try:
            return reading(NOBODY)
        except (CredentialsRequired, NotFound):
            return reading(self.viewer)

    def answer(self, request: Request, namespace: Namespace, digest: str, file_name: str) -> HttpResponseBase:
        """Send the bytes. Raises NotFound where a quarantine is about them, in whichever release."""
        if not Release.objects.with_bytes(digest).filter(namespace=namespace).exists():
            raise NotFound("This archive is no longer served.")
        is_public = namespace.visibility == Visibility.PUBLIC
        cache_control = f"public, max-age={settings.PUBLIC_ARCHIVE_MAX_AGE}" if is_public else "private"
        return archive_response(request, digest=digest, file_name=file_name, cache_control=cache_control)


class ModuleArchive(PackageView):
    def get(self, request: Request, namespace: str, name: str, system: str, version: str) -> HttpResponseBase:
        address = ModuleAddress(namespace, name, system)
        release = self.read(lambda viewer: module_reading.published_release(viewer, address, version))
        return self.answer(request, release.namespace, release.digest, archive_name(release.name, release.version))


class ProviderFile(PackageView):
    """A zip of a version, its sums, or their signature."""

    def get(
        self,
        request: Request,
        namespace: str,
        type: str,  # noqa: A002 - the field's word
        version: str,
        provider_file: str,
    ) -> HttpResponseBase:
        address = ProviderAddress(namespace, type)
        packages = self.read(lambda viewer: provider_reading.packages_for(viewer, address, version))
        if not packages:
            raise NotFound(f"There is no version {version[:80]} of {address}.")
        found = packages[0].version
        sums = sums_name(found.provider.type, found.release.version)
        digests = {one.filename: one.digest for one in packages}
        digests |= {sums: found.sums_digest, f"{sums}.sig": found.signature_digest}
        if provider_file not in digests:
            raise NotFound(f"Version {version} of {address} has no file {provider_file[:100]!r}.")
        return self.answer(request, found.release.namespace, digests[provider_file], provider_file)


app_name = "packages"
_VERSION = "<segment:namespace>/<segment:type>/<segment:version>"
urlpatterns = [
    path(
        "packages/modules/<segment:namespace>/<segment:name>/<segment:system>/<segment:version>.zip",
        ModuleArchive.as_view(),
        name="module",
    ),
    path(f"packages/providers/{_VERSION}/<segment:provider_file>", ProviderFile.as_view(), name="provider"),
    path(
        f"packages/mirror/<segment:hostname>/{_VERSION}/<segment:file_name>",
        mirror_v1.Package.as_view(),
        name="mirror",
    ),
    re_path(r"^packages/", Unknown.as_view()),
]
