"""The provider network mirror: https://opentofu.org/docs/internals/provider-network-mirror-protocol/

Serves Larder's own providers under the host names of LARDER_HOSTNAMES, and those of other registries under theirs.
Clients abort `init` on any 401, and on a 404 for a version's document. So a missing or hidden provider is 404 on the
index and an empty list of archives behind it, and clients try their next installation method (D8). Only invalid
credentials are a 401. A version that another registry does not have of a provider that it has is 404.

What policy or trust refuses must not come by another method: its document is a 409, of which clients print the number.
(403 they call wrong credentials, and from 500 on terraform asks again.) No client prints a body.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from django.conf import settings
from django.http.response import HttpResponseBase
from django.urls import path, reverse
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Visibility
from apps.audit import generation
from apps.blobs import capabilities, verifying
from apps.http import mirrors, ready
from apps.http.errors import Failure
from apps.http.mirrors import OtherRegistries
from apps.http.views import ReadyAtAddress
from apps.http.waits import WaitingView
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import CredentialsRequired, Invalid, NotFound, UnknownOrPrivate
from apps.lib.mirrored import HostedProvider, MirroredPackage, OtherClientsOnly, VersionUnknown
from apps.lib.net.hostnames import normalised
from apps.protocol.archives import LinkRefused, archive_response
from apps.protocol.base import ProtocolView
from apps.protocol.locations import FILE_NAME, url_of
from apps.providers import reading
from apps.providers.documents import Document, mirror_index_document, mirror_version_document

NOT_HERE: Document = {"archives": {}}


class MirrorView(ReadyAtAddress, WaitingView, ProtocolView):
    """`hosted` is set for a provider of another registry."""

    hosted: HostedProvider | None = None
    seconds = ready.LONGEST

    def find(self) -> tuple[OtherRegistries, HostedProvider] | None:
        """Return None for a provider of our own. Raises NotFound where there are no others."""
        asked, others = self.kwargs["hostname"], mirrors.others
        try:
            host = normalised(asked)
        except Invalid:
            host = ""
        if host and host in settings.HOSTNAMES:
            return None
        if not host or others is None:
            raise NotFound(f"This mirror has no providers of {asked[:80]!r}.")
        self.hosted = HostedProvider(host, self.kwargs["namespace"].lower(), self.kwargs["type"].lower())
        return others, self.hosted

    def failure_of(self, error: Exception) -> Failure:
        failure = super().failure_of(error)
        if self.hosted is not None and failure.status == HTTPStatus.FORBIDDEN:
            return replace(failure, status=HTTPStatus.CONFLICT)
        return failure

    def ready_scopes(self) -> Collection[str] | None:
        if self.hosted is None:
            return super().ready_scopes()
        return {generation.published_at(str(self.hosted))}

    def ready_seconds(self) -> float:
        return self.seconds


class Index(MirrorView):
    def get(self, request: Request, hostname: str, namespace: str, type: str) -> Response:  # noqa: A002, ARG002
        viewer = self.viewer
        try:
            if (found := self.find()) is None:
                listed = reading.listed_versions(viewer, ProviderAddress(namespace, type))
                self.ready_until = listed.next_at
                return Response(mirror_index_document(version.version for version in listed.rows))
            others, hosted = found
            mirrored = others.versions(self.asker(viewer), hosted)
        except OtherClientsOnly:
            raise
        except (CredentialsRequired, NotFound):
            raise NotFound("There is no such provider in this mirror that you can see.") from None
        self.seconds = mirrored.seconds
        return Response(mirror_index_document(mirrored.numbers))


class Version(MirrorView):
    """The packages of one version for all platforms. Clients request it when they are about to fetch one (D15)."""

    is_found = False

    def get(
        self,
        request: Request,  # noqa: ARG002
        hostname: str,  # noqa: ARG002
        namespace: str,
        type: str,  # noqa: A002 - the field's word
        version: str,
    ) -> Response:
        viewer = self.viewer
        try:
            found = self.find()
            if found is None:
                document, is_public = self._own(viewer, ProviderAddress(namespace, type), version)
            else:
                document, is_public = self._hosted(*found, version)
        except VersionUnknown:
            raise
        except (CredentialsRequired, NotFound):
            return Response(NOT_HERE)
        self.is_found = True
        # Its links grant access.
        return Response(document, headers={} if is_public else {"Cache-Control": "no-store"})

    def _own(self, viewer: Viewer, address: ProviderAddress, number: str) -> tuple[Document, bool]:
        packages = reading.packages_for(viewer, address, number)
        if not packages:
            raise NotFound(f"There is no version {number[:80]} of {address}.")
        release, now = packages[0].version.release, timezone.now()
        self.count_download(release.pk)
        document = mirror_version_document(
            packages, lambda one: url_of(release.namespace, one.digest, one.filename, now=now)
        )
        return document, release.namespace.visibility == Visibility.PUBLIC

    def _hosted(self, others: OtherRegistries, hosted: HostedProvider, number: str) -> tuple[Document, bool]:
        mirrored = others.version(self.asker(self.viewer), hosted, number)
        self.seconds = mirrored.seconds
        document = mirror_version_document(mirrored.packages, partial(_url_of, hosted, mirrored.number))
        return document, all(one.is_public for one in mirrored.packages)

    def ready_scopes(self) -> Collection[str] | None:
        """The scopes of a ready answer; None for what is not found: anyone could fill the table with it."""
        return super().ready_scopes() if self.is_found else None


class Package(MirrorView):
    """A package of another registry. Clients send no token for it: see locations.py.

    Policy decides at each request, so that what it holds back is not installed by a link that was given before.
    """

    def perform_authentication(self, request: Request) -> None:
        """Only where the URL does not suffice: a .netrc `default` entry sends its password to every host."""

    def get(
        self,
        request: Request,
        *,
        hostname: str,  # noqa: ARG002
        namespace: str,  # noqa: ARG002
        type: str,  # noqa: A002, ARG002 - the field's word
        version: str,
        file_name: str,
        capability: str = "",
    ) -> HttpResponseBase:
        others, hosted = self._find_other(file_name)
        stored = partial(others.stored, provider=hosted, number=version, filename=file_name)
        try:
            package = stored(self.asker(NOBODY), capability=capability)
        except CredentialsRequired:
            package = self._stored_for_viewer(stored, has_link=bool(capability))
        self.verify_file(package.digest, package.size)
        if request.method == "GET":
            others.record_use(hosted, package)
        is_cached = package.is_public and not capability
        cache_control = f"public, max-age={settings.PUBLIC_ARCHIVE_MAX_AGE}" if is_cached else "private"
        return archive_response(
            request,
            digest=package.digest,
            file_name=file_name,
            cache_control=cache_control,
            read_part=verifying.read_part,
        )

    def _find_other(self, file_name: str) -> tuple[OtherRegistries, HostedProvider]:
        """Find the provider; names that no registry can have are answered like a hidden host."""
        try:
            found = self.find()
        except NotFound:
            found = None
        if found is not None and FILE_NAME.fullmatch(file_name):
            return found
        if found is None and not self.viewer.is_identified:
            raise UnknownOrPrivate
        raise NotFound("There is no such package that you can see.")

    def _stored_for_viewer(self, stored: Callable[..., MirroredPackage], *, has_link: bool) -> MirroredPackage:
        """By credentials (.netrc), with or without a link that has ended."""
        try:
            return stored(self.asker(self.viewer))
        except (CredentialsRequired, NotFound, AuthenticationFailed):
            if not has_link:
                raise
            raise LinkRefused(
                "This download link has expired or was changed; ask the registry for a new one."
            ) from None

    def failure_of(self, error: Exception) -> Failure:
        return ProtocolView.failure_of(self, error)

    def ready_scopes(self) -> Collection[str] | None:
        return None


def _url_of(hosted: HostedProvider, number: str, package: MirroredPackage) -> str:
    where = [hosted.host, hosted.namespace, hosted.type, number]
    if package.is_public:
        return reverse("protocol:mirror-package", args=[*where, package.filename])
    capability = capabilities.sign(digest=package.digest, file_name=package.filename, now=timezone.now())
    return reverse("protocol:mirror-package-capability", args=[*where, capability, package.filename])


_PROVIDER = "v1/mirror/<segment:hostname>/<segment:namespace>/<segment:type>"
urlpatterns = [
    path(f"{_PROVIDER}/index.json", Index.as_view(), name="mirror-index"),
    path(f"{_PROVIDER}/<segment:version>.json", Version.as_view(), name="mirror-version"),
    path(f"{_PROVIDER}/<segment:version>/<segment:file_name>", Package.as_view(), name="mirror-package"),
    path(
        f"{_PROVIDER}/<segment:version>/<segment:capability>/<segment:file_name>",
        Package.as_view(),
        name="mirror-package-capability",
    ),
]
