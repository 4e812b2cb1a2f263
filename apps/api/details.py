"""/api/v1/modules/…/<version>/details and /api/v1/providers/…/<version>/details: all of one published version."""

from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access.gate import Viewer
from apps.api.frame import contents
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules.catalogue import reading as modules
from apps.modules.catalogue.documents import contents_document
from apps.modules.models import ModuleVersion
from apps.providers import reading as providers
from apps.providers.models import ProviderVersion
from apps.releases.catalogue import download_figures
from apps.releases.catalogue.documents import lifecycle_document, moment
from apps.releases.models import Release


def _release(viewer: Viewer, release: Release) -> dict[str, Any]:
    """What both kinds have. Only those who are known read the names of people."""
    knows = viewer.is_identified
    return {
        "id": str(release.public_id),
        "namespace": release.namespace.name,
        "version": release.version,
        "digest": f"sha256:{release.digest}",
        "size": release.size,
        "published_at": moment(release.published_at),
        "published_by": release.created_by.shown_name if knows and release.created_by else None,
        "lifecycle": lifecycle_document(release, with_names=knows),
        "quarantined": release.quarantined_at is not None,
        "downloads": download_figures.ever(download_figures.counts_of_release(release)),
    }


def module_version_document(viewer: Viewer, version: ModuleVersion) -> dict[str, Any]:
    module = version.module
    return {
        **_release(viewer, version.release),
        "name": module.name,
        "system": module.system,
        "description": module.description or version.summary,
        "source": module.source_url,
        "files": version.file_count,
        **contents_document(version),
    }


def provider_version_document(viewer: Viewer, version: ProviderVersion) -> dict[str, Any]:
    provider, key = version.provider, version.key
    packages = [
        {
            "os": one.os,
            "arch": one.arch,
            "filename": one.filename,
            "digest": f"sha256:{one.digest}",
            "size": one.size,
            "h1": one.h1,
        }
        for one in version.packages.all()
    ]
    return {
        **_release(viewer, version.release),
        "type": provider.type,
        "description": provider.description,
        "source": provider.source_url,
        "notice": provider.notice,
        "protocols": version.protocols,
        "signing": version.signing,
        "key": {"fingerprint": key.fingerprint, "key_id": key.key_id, "state": key.state},
        "sums_digest": f"sha256:{version.sums_digest}",
        "packages": packages,
    }


class ModuleVersionDetail(ApiView):
    """Yanked versions included; those in quarantine for staff alone."""

    http_method_names = ["get", "head"]

    @operation("Show a module version in full", answers={200: contents.ModuleVersionDetails}, public=True)
    def get(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:  # noqa: ARG002
        address = ModuleAddress(namespace, name, system)
        row = modules.version_for(self.viewer, address, version, even_quarantined=True, with_markdown=True)
        return Response(module_version_document(self.viewer, row))


class ProviderVersionDetail(ApiView):
    """Yanked versions included; those in quarantine for staff alone."""

    http_method_names = ["get", "head"]

    @operation("Show a provider version in full", answers={200: contents.ProviderVersionDetails}, public=True)
    def get(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002, ARG002
        row = providers.version_for(self.viewer, ProviderAddress(namespace, type), version, even_quarantined=True)
        return Response(provider_version_document(self.viewer, row))


urlpatterns = [
    path(
        "modules/<segment:namespace>/<segment:name>/<segment:system>/<segment:version>/details",
        ModuleVersionDetail.as_view(),
        name="module-details",
    ),
    path(
        "providers/<segment:namespace>/<segment:type>/<segment:version>/details",
        ProviderVersionDetail.as_view(),
        name="provider-details",
    ),
]
