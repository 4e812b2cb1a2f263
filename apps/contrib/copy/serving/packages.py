"""Bytes at addresses that follow from coordinates: one rule of a web server names them, and caches find them again.

They are those of the static copy (`tree/layout.py`). Without a copy Larder answers them too, with the reader's token
where the bytes are not public. Its own documents name links that carry their permission (D6).
"""

from django.conf import settings
from django.http.response import HttpResponseBase
from django.urls import path, re_path
from rest_framework.request import Request

from apps.accounts.models import Namespace, Visibility
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import NotFound
from apps.modules.catalogue import reading as module_reading
from apps.modules.catalogue.documents import archive_name
from apps.protocol import mirror_v1
from apps.protocol.archives import ArchiveView, archive_response
from apps.protocol.base import Unknown
from apps.providers import reading as provider_reading
from apps.providers.documents import sums_name
from apps.releases.models import Release


class PackageView(ArchiveView):
    def answer(self, request: Request, namespace: Namespace, digest: str, file_name: str) -> HttpResponseBase:
        """Send the bytes. Raises NotFound where a quarantine is about them, in whichever release."""
        if not Release.objects.with_bytes(digest).filter(namespace=namespace).exists():
            raise NotFound("This archive is no longer served.")
        is_public = namespace.visibility == Visibility.PUBLIC
        cache_control = f"public, max-age={settings.PUBLIC_ARCHIVE_MAX_AGE}" if is_public else "private"
        return archive_response(request, digest=digest, file_name=file_name, cache_control=cache_control)


class ModuleArchive(PackageView):
    def get(self, request: Request, namespace: str, name: str, system: str, file_name: str) -> HttpResponseBase:
        version = file_name.removesuffix(".zip")
        if version == file_name:
            raise NotFound(f"{file_name[:100]!r} is no archive: expected a version and .zip.")
        release = module_reading.published_release(self.viewer, ModuleAddress(namespace, name, system), version)
        return self.answer(request, release.namespace, release.digest, archive_name(release.name, release.version))


class ProviderFile(PackageView):
    """A zip of a version, its sums, or their signature."""

    def get(
        self,
        request: Request,
        namespace: str,
        type: str,  # noqa: A002 - the field's word
        version: str,
        file_name: str,
    ) -> HttpResponseBase:
        address, viewer = ProviderAddress(namespace, type), self.viewer
        packages = provider_reading.packages_for(viewer, address, version)
        if not packages:
            raise NotFound(f"There is no version {version[:80]} of {address}.")
        found = packages[0].version
        sums = sums_name(found.provider.type, found.release.version)
        digests = {one.filename: one.digest for one in packages}
        digests |= {sums: found.sums_digest, f"{sums}.sig": found.signature_digest}
        if file_name not in digests:
            raise NotFound(f"Version {version} of {address} has no file {file_name[:100]!r}.")
        return self.answer(request, found.release.namespace, digests[file_name], file_name)


app_name = "packages"
_VERSION = "<segment:namespace>/<segment:type>/<segment:version>/<segment:file_name>"
urlpatterns = [
    path(
        "packages/modules/<segment:namespace>/<segment:name>/<segment:system>/<segment:file_name>",
        ModuleArchive.as_view(),
        name="module",
    ),
    path(f"packages/providers/{_VERSION}", ProviderFile.as_view(), name="provider"),
    path(f"packages/mirror/<segment:hostname>/{_VERSION}", mirror_v1.Package.as_view(), name="mirror"),
    re_path(r"^packages/", Unknown.as_view()),
]
