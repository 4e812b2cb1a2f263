"""end-2 and end-10: blobs, byte for byte, with HEAD, ETag and one range, and never a Content-Encoding."""

from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.urls import re_path
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from apps.artifacts.names import Digest, ProviderMirror, parse_name
from apps.blobs import verifying
from apps.http.byte_ranges import byte_response
from apps.http.ready import OPENED_BLOB
from apps.http.waits import WaitingView
from apps.lib.errors import Unavailable
from apps.oci import blobs, hosted_mirrors, mirrors, registry_tokens, repositories
from apps.oci.base import OciView
from apps.oci.blobs import Readable


class Blob(WaitingView, OciView):
    def get(self, request: Request, name: str, digest: str) -> HttpResponseBase:
        address, wanted = parse_name(name), Digest.parse(digest)
        if (opened := request.META.get(OPENED_BLOB)) is not None:
            return blob_response(request, wanted, blobs.opened(opened))
        if isinstance(address, ProviderMirror) and mirrors.hosted(address) is not None:
            return self._hosted(request, address, wanted)
        if isinstance(address, ProviderMirror):
            return blob_response(request, wanted, blobs.readable_of_mirror(self.caller, address, wanted))
        found = repositories.find(self.caller, address)
        readable = blobs.readable_in(found, wanted)
        if request.method == "HEAD":
            blobs.record_seen(self.caller, found, readable)
        return blob_response(request, wanted, readable)

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Skip them while the database is away, when no account can be looked up: the front knows who asks."""
        return [] if OPENED_BLOB in self.request.META else super().get_authenticators()

    def _hosted(self, request: Request, mirror: ProviderMirror, digest: Digest) -> HttpResponseBase:
        package = hosted_mirrors.blob(self.caller, mirror, str(digest), self.asker(self.viewer))
        if package is None:
            return blob_response(request, digest, blobs.EMPTY)
        self.verify_file(package.digest, package.size)
        if request.method == "GET":
            hosted_mirrors.record_use(mirror, package)
        return blob_response(
            request, digest, Readable(package.digest, package.size or 0, read_part=verifying.read_part)
        )

    def actions(self) -> str:
        """The actions to ask for. A client that asks whether a blob exists is about to push it: oras for Python asks
        here for its one token.
        """
        return ",".join(registry_tokens.ACTIONS) if self.request.method == "HEAD" else super().actions()

    def delete(self, request: Request, name: str, digest: str) -> Response:  # noqa: ARG002
        found = repositories.for_delete(self.caller, repositories.pushable(self.caller, name))
        blobs.delete(found, Digest.parse(digest))
        return Response(status=HTTPStatus.ACCEPTED)


def blob_response(request: Request, digest: Digest, readable: Readable) -> HttpResponseBase:
    """Send the blob as an `attachment`: the bytes may be anyone's, on the origin of the portal."""
    if not readable.is_stored():
        raise Unavailable("The blob cannot be read from storage right now; try again in a few seconds.")
    headers = {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment"}
    response = byte_response(
        request,
        size=readable.size,
        etag=f'"{digest}"',
        headers=headers,
        read=readable.read,
        verified_file=readable.verified_file,
        link=readable.link,
    )
    response.headers["Docker-Content-Digest"] = str(digest)
    return response


urlpatterns = [re_path(r"^(?P<name>.+)/blobs/(?P<digest>[^/]+)\Z", Blob.as_view(), name="blob")]
