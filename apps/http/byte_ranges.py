"""Stored bytes on the wire: RFC 9110 with HEAD, ETag, one range, and never a Content-Encoding.

The bytes leave in the store's own steps: `wsgi.file_wrapper` may hand a whole file to a server that reads it into
memory, and knows no ranges. An encoding would break OpenTofu's direct installation, which does not undo it.
"""

from collections.abc import Callable, Iterator
from http import HTTPStatus

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from rest_framework.request import Request

from apps.lib import ranges
from apps.lib.errors import RegistryError


class NotSatisfiable(RegistryError):
    code = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"There are {size} bytes, none of them in this range.")
        self.headers = {"Content-Range": f"bytes */{size}"}


def byte_response(
    request: Request, *, size: int, etag: str, headers: dict[str, str], read: Callable[[range], Iterator[bytes]]
) -> HttpResponseBase:
    """200, 206 or 304; `headers` are those of all three. Raises NotSatisfiable, and what `read` raises."""
    headers = headers | {"ETag": etag, "Accept-Ranges": "bytes"}
    whole = HttpResponse(headers=headers | {"Content-Length": str(size)})
    answer = get_conditional_response(request, etag=etag, response=whole)
    if answer is not None and answer is not whole:
        return answer
    if request.method == "HEAD":  # it has no ranges (RFC 9110, 14.2)
        return whole
    try:
        part = ranges.asked(request.headers, size=size, etag=etag)
    except ranges.Unsatisfiable:
        raise NotSatisfiable(size) from None
    status = HTTPStatus.OK
    if part:
        status = HTTPStatus.PARTIAL_CONTENT
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    part = part or range(size)
    headers["Content-Length"] = str(len(part))
    return StreamingHttpResponse(read(part), status=status, headers=headers)
