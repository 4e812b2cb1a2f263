"""Serve stored bytes: RFC 9110 with HEAD, ETag, one range, and never a Content-Encoding.

Object storage may send them itself (LARDER_STORAGE_REDIRECT_SECONDS); a whole file that needs no check is sent by a
proxy (LARDER_ACCEL_REDIRECT), or by our own server. Everything else is streamed in the store's own chunks:
`wsgi.file_wrapper` may hand the file to a server that reads it into memory and has no ranges. An encoding would break
OpenTofu's direct installation, which does not undo it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from rest_framework.request import Request

from apps.blobs.store import File
from apps.lib.errors import RegistryError
from apps.lib.net.forwarding import PROXIED

# A proxy would answer these by rules of its own.
_CONDITIONS = ("Range", "If-Match", "If-Unmodified-Since")
# Clients send these to object storage as well, which would compare them with an ETag of its own.
_CONDITIONS_OF_STORAGE = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range")
# A link can ask object storage for these.
_HEADERS_OF_STORAGE = ("Cache-Control", "Content-Disposition", "Content-Type")

# Key of the WSGI environ: the server sends the file of a `WholeFile` by itself.
OFFERED = "larder.can_send_files"

_RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII | re.IGNORECASE)
_MAX_DIGITS = 18
_BEYOND = 10**_MAX_DIGITS  # past the end of any object


class NotSatisfiable(RegistryError):
    """A range that begins after the last byte, or ends before it begins (optional in RFC 9110, 14)."""

    code = "range_not_satisfiable"

    def __init__(self, size: int) -> None:
        super().__init__(f"None of the {size} bytes are in this range.")
        self.headers = {"Content-Range": f"bytes */{size}"}


class WholeFile(HttpResponse):
    """Has no body of its own: the server sends the file."""

    def __init__(self, path: Path, *, headers: dict[str, str]) -> None:
        super().__init__(headers=headers)
        self.path = path


def byte_response(
    request: Request,
    *,
    size: int,
    etag: str,
    headers: dict[str, str],
    read: Callable[[range], Iterator[bytes]],
    verified_file: Callable[[], File | None] = lambda: None,
    link: Callable[[Mapping[str, str]], str | None] = lambda _: None,
) -> HttpResponseBase:
    """200, 206, 304 or 307, each with `headers`. Raises NotSatisfiable, and the errors of `read`.

    `verified_file` is the whole file, where it may leave without a check; `link` where storage sends it itself.
    """
    headers = headers | {"ETag": etag, "Accept-Ranges": "bytes"}
    whole = HttpResponse(headers=headers | {"Content-Length": str(size)})
    answer = get_conditional_response(request, etag=etag, response=whole)
    if answer is not None and answer is not whole:
        return answer
    if request.method == "HEAD":  # no ranges for HEAD (RFC 9110, 14.2)
        return whole
    part = requested_range(request.headers, size=size, etag=etag)
    status = HTTPStatus.OK
    if not _has_any(request, _CONDITIONS_OF_STORAGE) and (
        url := link({name: headers[name] for name in _HEADERS_OF_STORAGE if name in headers})
    ):
        # The link ends soon: no cache may repeat it.
        moved = {"Location": url, "Cache-Control": "no-store", "Content-Length": "0"}
        return HttpResponse(status=HTTPStatus.TEMPORARY_REDIRECT, headers=moved)
    if part:
        status = HTTPStatus.PARTIAL_CONTENT
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    elif (
        settings.ACCEL_REDIRECT
        and request.META.get(PROXIED)
        and not _has_any(request, _CONDITIONS)
        and (file := verified_file())
    ):
        return HttpResponse(headers=headers | {"X-Accel-Redirect": f"{settings.ACCEL_REDIRECT}/{file.key}"})
    elif request.META.get(OFFERED) and (file := verified_file()):
        return WholeFile(file.path, headers=headers | {"Content-Length": str(size)})
    part = part or range(size)
    headers["Content-Length"] = str(len(part))
    return StreamingHttpResponse(read(part), status=status, headers=headers)


def _has_any(request: Request, names: Iterable[str]) -> bool:
    return any(name in request.headers for name in names)


def requested_range(headers: Mapping[str, str], *, size: int, etag: str) -> range | None:
    """The requested range, or None for everything: several, malformed or outdated ones. Raises NotSatisfiable."""
    match = _RANGE.fullmatch(headers.get("Range", "").strip())
    # If-Range compares strongly, and there is no Last-Modified to compare a date with.
    if match is None or headers.get("If-Range", etag).strip() != etag:
        return None
    first, last = match.groups()
    if not first and not last:
        return None
    if not first:
        start, stop = max(0, size - _number(last)), size
    else:
        start, stop = _number(first), min(_number(last) + 1 if last else size, size)
        if last and _number(last) < start:
            raise NotSatisfiable(size)
    if start >= size:
        raise NotSatisfiable(size)
    return range(start, stop)


def _number(digits: str) -> int:
    """Any number of digits: Python refuses thousands of them, and no object is that large."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else _BEYOND
