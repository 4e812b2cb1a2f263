"""modules.v1: https://opentofu.org/docs/internals/module-registry-protocol/

All clients get the same answers (D7): OpenTofu reads `location` in the JSON and Terraform only the header
X-Terraform-Get, so one 200 has both.
"""

from django.conf import settings
from django.urls import path
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Visibility
from apps.http.views import ReadyAtAddress
from apps.lib.addresses import ModuleAddress
from apps.modules.catalogue import reading
from apps.modules.catalogue.documents import versions_document
from apps.protocol.base import ProtocolView
from apps.protocol.locations import location_of


def download_document(location: str) -> dict[str, str | bool]:
    """`use_registry_credentials` makes OpenTofu 1.12 fetch the archive itself, with its token and within 10 s."""
    document: dict[str, str | bool] = {"location": location}
    if settings.USE_REGISTRY_CREDENTIALS:
        document["use_registry_credentials"] = True
    return document


class Versions(ReadyAtAddress, ProtocolView):
    """Every published version, highest first. Clients choose; they take a pre-release only if it is named exactly."""

    def get(self, request: Request, namespace: str, name: str, system: str) -> Response:  # noqa: ARG002
        address = ModuleAddress(namespace, name, system)
        listed = reading.listed_versions(self.viewer, address)
        return Response(versions_document(address, listed.versions, listed.source_url))


class Download(ReadyAtAddress, ProtocolView):
    """The location of one version's archive. Matches the version by value, as clients normalise it."""

    def get(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:  # noqa: ARG002
        viewer = self.viewer
        release = reading.published_release(viewer, ModuleAddress(namespace, name, system), version)
        location = location_of(release, now=timezone.now())
        headers = {"X-Terraform-Get": location}
        if release.namespace.visibility != Visibility.PUBLIC:
            headers["Cache-Control"] = "no-store"  # the location grants access
        self.count_download(release.pk)
        return Response(download_document(location), headers=headers)


urlpatterns = [
    path(
        "v1/modules/<segment:namespace>/<segment:name>/<segment:system>/versions",
        Versions.as_view(),
        name="module-versions",
    ),
    path(
        "v1/modules/<segment:namespace>/<segment:name>/<segment:system>/<segment:version>/download",
        Download.as_view(),
        name="module-download",
    ),
]
