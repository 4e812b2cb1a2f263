"""end-2 and end-10: blobs, byte for byte, with HEAD, ETag and one range, and never a Content-Encoding."""

from http import HTTPStatus

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import re_path
from django.utils.cache import get_conditional_response
from rest_framework.request import Request
from rest_framework.response import Response

from apps.artifacts.names import Digest, ProviderMirror, parse_name
from apps.lib import ranges
from apps.lib.errors import Unavailable
from apps.oci import blobs, repositories
from apps.oci.base import OciView
from apps.oci.blobs import Readable
from apps.oci.errors import errors_document


class Blob(OciView):
    def get(self, request: Request, name: str, digest: str) -> HttpResponseBase:
        address, wanted = parse_name(name), Digest.parse(digest)
        if isinstance(address, ProviderMirror):
            return blob_response(request, wanted, blobs.of_mirror(self.caller, address, wanted))
        found = repositories.find(self.caller, address)
        readable = blobs.size_and_source(found, wanted)
        if request.method == "HEAD":
            blobs.saw(self.caller, found, readable)
        return blob_response(request, wanted, readable)

    def delete(self, request: Request, name: str, digest: str) -> Response:  # noqa: ARG002
        found = repositories.for_delete(self.caller, repositories.pushable(self.caller, name))
        blobs.delete(found, Digest.parse(digest))
        return Response(status=HTTPStatus.ACCEPTED)


def blob_response(request: Request, digest: Digest, readable: Readable) -> HttpResponseBase:
    """200, 206, 304 or 416. `attachment`: these are anybody's bytes, on the origin of the portal."""
    if not readable.is_stored():
        raise Unavailable("The blob cannot be read from storage right now; try again in a few seconds.")
    headers = {
        "Content-Type": "application/octet-stream",
        "Docker-Content-Digest": str(digest),
        "ETag": f'"{digest}"',
        "Accept-Ranges": "bytes",
        "Content-Disposition": "attachment",
    }
    whole = HttpResponse(headers=headers | {"Content-Length": str(readable.size)})
    answer = get_conditional_response(request, etag=headers["ETag"], response=whole)
    if answer is not None and answer is not whole:
        answer.headers["Docker-Content-Digest"] = str(digest)
        return answer
    if request.method == "HEAD":  # it has no ranges (RFC 9110, 14.2)
        return whole
    try:
        part = ranges.asked(request.headers, size=readable.size, etag=headers["ETag"])
    except ranges.Unsatisfiable:
        refused = Response(errors_document("SIZE_INVALID", f"The blob has {readable.size} bytes."), status=416)
        refused.headers["Content-Range"] = f"bytes */{readable.size}"
        return refused
    status = HTTPStatus.OK
    if part:
        status = HTTPStatus.PARTIAL_CONTENT
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{readable.size}"
    part = part or range(readable.size)
    headers["Content-Length"] = str(len(part))
    return StreamingHttpResponse(readable.read(part), status=status, headers=headers)


urlpatterns = [re_path(r"^(?P<name>.+)/blobs/(?P<digest>[^/]+)\Z", Blob.as_view(), name="blob")]
