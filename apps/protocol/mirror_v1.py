"""The provider network mirror: https://opentofu.org/docs/internals/provider-network-mirror-protocol/

Serves Larder's own providers under the host names of LARDER_HOSTNAMES. Clients abort `init` on any 401, and on a 404
for a version's document. So a missing or hidden provider is 404 on the index and an empty list of archives behind it,
and clients try their next installation method (D8). Only invalid credentials are a 401.
"""

from collections.abc import Collection
from functools import partial

from django.conf import settings
from django.urls import path
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Visibility
from apps.http.views import ReadyAtAddress
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import CredentialsRequired, Invalid, NotFound
from apps.lib.net.hostnames import normalised
from apps.protocol.base import ProtocolView
from apps.protocol.locations import url_of
from apps.providers import reading
from apps.providers.documents import mirror_index_document, mirror_version_document


class Index(ReadyAtAddress, ProtocolView):
    def get(self, request: Request, hostname: str, namespace: str, type: str) -> Response:  # noqa: A002, ARG002
        viewer = self.viewer
        try:
            _require_ours(hostname)
            listed = reading.listed_versions(viewer, ProviderAddress(namespace, type))
        except (CredentialsRequired, NotFound):
            raise NotFound("This mirror has no such provider that you can see.") from None
        self.ready_until = listed.next_at
        return Response(mirror_index_document(listed.rows))


class Version(ReadyAtAddress, ProtocolView):
    """The packages of one version for all platforms. Clients request it when they are about to fetch one (D15)."""

    is_found = True

    def get(
        self,
        request: Request,  # noqa: ARG002
        hostname: str,
        namespace: str,
        type: str,  # noqa: A002 - the field's word
        version: str,
    ) -> Response:
        viewer = self.viewer
        try:
            _require_ours(hostname)
            packages = reading.packages_for(viewer, ProviderAddress(namespace, type), version)
        except (CredentialsRequired, NotFound):
            packages = []
        if not packages:
            self.is_found = False
            return Response(mirror_version_document([], _nowhere))
        release = packages[0].version.release
        to = partial(url_of, release.namespace, now=timezone.now())
        headers = {} if release.namespace.visibility == Visibility.PUBLIC else {"Cache-Control": "no-store"}
        self.count_download(release.pk)
        return Response(mirror_version_document(packages, to), headers=headers)

    def ready_scopes(self) -> Collection[str] | None:
        """None for what is not found: anybody could fill the table with it."""
        return super().ready_scopes() if self.is_found else None


def _require_ours(hostname: str) -> None:
    try:
        is_ours = normalised(hostname) in settings.HOSTNAMES
    except Invalid:
        is_ours = False
    if not is_ours:
        raise NotFound(f"This mirror has no providers of {hostname[:80]!r}.")


def _nowhere(digest: str, file_name: str) -> str:
    raise AssertionError((digest, file_name))


_PROVIDER = "v1/mirror/<segment:hostname>/<segment:namespace>/<segment:type>"
urlpatterns = [
    path(f"{_PROVIDER}/index.json", Index.as_view(), name="mirror-index"),
    path(f"{_PROVIDER}/<segment:version>.json", Version.as_view(), name="mirror-version"),
]
