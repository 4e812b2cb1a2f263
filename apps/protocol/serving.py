"""A stored archive on the wire: RFC 9110 with HEAD, ETag, one range, and never a Content-Encoding.

The bytes leave in the store's own steps: `wsgi.file_wrapper` may hand a whole file to a server that reads it into
memory, and knows no ranges. An encoding would break OpenTofu's direct installation, which does not undo it.
"""

from collections.abc import Iterator
from http import HTTPStatus

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from rest_framework.request import Request
from rest_framework.response import Response

from apps.blobs import store
from apps.lib import ranges
from apps.lib.errors import Unavailable


def archive_response(request: Request, *, digest: str, file_name: str, cache_control: str) -> HttpResponseBase:
    """200, 206, 304 or 416 with the blob of that digest. Raises Unavailable where storage has none, or a damaged one.

    Whoever calls has checked that this digest may be read, and that `file_name` is plain ASCII without controls.
    """
    store.require_sound(digest)
    size = store.size_of(digest)
    if size is None:
        raise _lost()
    headers = _headers(digest, file_name, cache_control)
    whole = HttpResponse(headers=headers | {"Content-Length": str(size)})
    answer = get_conditional_response(request, etag=headers["ETag"], response=whole)
    if answer is not None and answer is not whole:
        return answer
    if request.method == "HEAD":  # it has no ranges (RFC 9110, 14.2)
        return whole
    try:
        part = ranges.asked(request.headers, size=size, etag=headers["ETag"])
    except ranges.Unsatisfiable:
        refused = Response({"errors": [f"The archive has {size} bytes, none of them in this range."]}, status=416)
        refused.headers["Content-Range"] = f"bytes */{size}"
        refused.headers["Cache-Control"] = "no-store"
        return refused
    status = HTTPStatus.OK
    if part:
        status = HTTPStatus.PARTIAL_CONTENT
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    part = part or range(size)
    headers["Content-Length"] = str(len(part))
    return StreamingHttpResponse(_steps(digest, part, size), status=status, headers=headers)


def _headers(digest: str, file_name: str, cache_control: str) -> dict[str, str]:
    return {
        "Content-Type": _media_type(file_name),
        "ETag": f'"{digest}"',
        "Accept-Ranges": "bytes",
        "Cache-Control": cache_control,
        "Content-Disposition": content_disposition_header(as_attachment=True, filename=file_name) or "attachment",
        "X-Content-Type-Options": "nosniff",
    }


def _media_type(file_name: str) -> str:
    if file_name.endswith(".zip"):
        return "application/zip"
    return "text/plain; charset=utf-8" if file_name.endswith("_SHA256SUMS") else "application/octet-stream"


def _steps(digest: str, part: range, size: int) -> Iterator[bytes]:
    try:
        return store.read_part(digest, part, size=size)
    except store.Missing:
        raise _lost() from None


def _lost() -> Unavailable:
    # Published bytes that storage does not show are an outage of ours: a 404 would say that the version is gone.
    return Unavailable("The archive cannot be read from storage right now; try again in a few seconds.")
