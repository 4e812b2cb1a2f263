"""providers.v1: https://opentofu.org/docs/internals/provider-registry-protocol/

Clients list the versions, pick the highest that their constraints allow (whatever its platforms), ask for its package,
and fetch that, SHA256SUMS and its signature without their token.

Beyond it, details as the public registries answer them below the same base: update bots read `source` there.
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.urls import path
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Visibility
from apps.http.views import ReadyInNamespace, SameForReaders
from apps.lib.addresses import ProviderAddress
from apps.protocol.base import ProtocolView, Unknown
from apps.protocol.locations import base_for, url_of
from apps.providers import reading
from apps.providers.documents import details_document, download_document, versions_document
from apps.providers.models import ProviderVersion
from apps.releases.catalogue.download_figures import downloads_of_name
from apps.releases.catalogue.reading import listed_numbers
from apps.releases.models import Kind


class Versions(SameForReaders, ProtocolView):
    """Every listed version, highest first. A version is listed only if all its parts are present."""

    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002, ARG002
        listed = reading.listed_versions(self.viewer, ProviderAddress(namespace, type))
        self.ready_until = listed.next_at
        return Response(versions_document(listed.rows, timezone.now(), held=listed.held))


class Download(SameForReaders, ProtocolView):
    """The location of one platform's package, and its signature. Matches the version by value (M6)."""

    def get(
        self,
        request: Request,
        *,
        namespace: str,
        type: str,  # noqa: A002 - the field's word
        version: str,
        os: str,
        arch: str,
    ) -> Response:
        viewer, now = self.viewer, timezone.now()
        address, platform = ProviderAddress(namespace, type), (os, arch)
        found = reading.download_for(viewer, address, version, platform, with_all=settings.PROVIDER_PACKAGES, now=now)
        release = found.package.version.release
        base, relative = base_for(request.get_host()), partial(url_of, release.namespace, now=now)
        document = download_document(
            found.package,
            keys=found.keys,
            url_of=lambda digest, file_name: base + relative(digest, file_name),
            all_packages=found.all_packages,
        )
        # Its links grant access.
        headers = {} if release.namespace.visibility == Visibility.PUBLIC else {"Cache-Control": "no-store"}
        self.count_download(release.pk)
        return Response(document, headers=headers)


class Latest(ReadyInNamespace, ProtocolView):
    def get(self, request: Request, namespace: str, type: str) -> Response:  # noqa: A002, ARG002
        return Response(_details(self, reading.latest_version(self.viewer, ProviderAddress(namespace, type))))


class Exact(ReadyInNamespace, ProtocolView):
    """One version; a yanked one is still readable by its exact number (D9)."""

    def get(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002, ARG002
        found = reading.version_for(self.viewer, ProviderAddress(namespace, type), version)
        return Response(_details(self, found))


def _details(view: ProtocolView, version: ProviderVersion) -> dict[str, Any]:
    provider = version.provider
    downloads = downloads_of_name(kind=Kind.PROVIDER, namespace=provider.namespace, name=provider.type)
    listed = listed_numbers(provider)
    view.ready_until = listed.next_at
    return details_document(version, versions=[number for number, _ in listed.rows], downloads=downloads)


_PROVIDER = "v1/providers/<segment:namespace>/<segment:type>"
urlpatterns = [
    path("v1/providers/", Unknown.as_view(), name="providers"),  # the base that discovery names
    path(f"{_PROVIDER}/versions", Versions.as_view(), name="provider-versions"),
    path(
        f"{_PROVIDER}/<segment:version>/download/<segment:os>/<segment:arch>",
        Download.as_view(),
        name="provider-download",
    ),
    path(_PROVIDER, Latest.as_view(), name="provider-latest"),
    path(f"{_PROVIDER}/<segment:version>", Exact.as_view(), name="provider-details"),
]
