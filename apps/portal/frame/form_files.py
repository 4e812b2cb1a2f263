"""Files from forms: ordinary forms refuse them, and pages that take them read the body as it arrives (D2).

Django's multipart parser would buffer a file in memory or a temporary file before the view sees it; without an upload
handler it would read the whole body at once. Nor can it look for a CSRF field in such a body: the origin replaces it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from apps.lib.errors import Conflict, Invalid, RegistryError
from apps.lib.net import bodies

# Browsers send three short header lines with each part, and our form has one part.
MAX_PARTS = 8
MAX_FIELD_BYTES = 4 * 1024
OVERHEAD_BYTES = 64 * 1024
STATUS = {
    "unauthenticated": HTTPStatus.UNAUTHORIZED,
    "foreign_origin": HTTPStatus.FORBIDDEN,
    "forbidden": HTTPStatus.FORBIDDEN,
    "not_found": HTTPStatus.NOT_FOUND,
    "conflict": HTTPStatus.CONFLICT,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "too_slow": HTTPStatus.REQUEST_TIMEOUT,
    "unsupported_media_type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    "invalid": HTTPStatus.UNPROCESSABLE_ENTITY,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
}


class FileRefused(MultiPartParserError):
    """Django answers it with its handler for bad requests."""

    hint = "Send the form without it."


class RefuseFiles(FileUploadHandler):
    def new_file(self, *_arguments: Any, **_keywords: Any) -> None:
        raise FileRefused("This form does not accept a file.")

    def receive_data_chunk(self, _raw_data: bytes, _start: int) -> None:
        return None

    def file_complete(self, _file_size: int) -> None:
        return None


class ForeignOrigin(RegistryError):
    """Another site, or a program other than a browser, tries to use a ticket."""

    code = "foreign_origin"


def check_origin(request: HttpRequest) -> None:
    """Browsers send an Origin with every PUT and POST; one that hides it sends Sec-Fetch-Site."""
    origin = request.headers.get("Origin")
    if origin in {settings.PUBLIC_URL, *settings.CSRF_TRUSTED_ORIGINS}:
        return
    if origin is None and request.headers.get("Sec-Fetch-Site") == "same-origin":
        return
    shown = urlsplit(settings.PUBLIC_URL).netloc
    raise ForeignOrigin(
        f"This upload comes from {origin or 'an unknown origin'}, but tickets work only from pages of {shown}.",
        hint=f"Open {settings.PUBLIC_URL} and publish from there; scripts use the API with a token.",
    )


class MalformedForm(Invalid):
    """The request is no valid multipart/form-data, or has no file."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """`chunks` reads the rest of the request: the file's bytes, up to the required end of the form."""

    file_name: str
    chunks: Iterator[bytes]


def file_part(content_type: str, body: Iterable[bytes]) -> FilePart:
    """Read up to the first file of the form; raises MalformedForm before yielding any of its bytes."""
    events = _events(content_type, body)
    skipped = 0
    for event in events:
        if isinstance(event, MultipartSegment) and event.filename is not None:
            if not event.filename:
                raise MalformedForm("No file was chosen.", hint="Choose the file, then send the form.")
            return FilePart(event.filename, _payload(events))
        if isinstance(event, bytes):
            skipped += len(event)
            if skipped > MAX_FIELD_BYTES:
                raise MalformedForm("The form contains a field that is too long.", hint="Send only the file.")
    raise MalformedForm("The form contains no file.", hint="Choose the file, then send the form.")


def file_of(request: HttpRequest) -> FilePart:
    """The first file of the form in the request's body."""
    chunks = bodies.chunks(request.environ)  # type: ignore[attr-defined]  # WSGIRequest has it
    return file_part(request.META.get("CONTENT_TYPE", ""), chunks)


def file_parts(content_type: str, body: Iterable[bytes], *, most: int) -> Iterator[FilePart]:
    """Every file of the form in turn; the unread rest of one is dropped before the next."""
    events = _events(content_type, body, most_parts=most)
    skipped = found = 0
    for event in events:
        if isinstance(event, MultipartSegment) and event.filename:
            found += 1
            part = FilePart(event.filename, _part(events))
            yield part
            for _ in part.chunks:
                pass
        elif isinstance(event, bytes):
            skipped += len(event)
            if skipped > MAX_FIELD_BYTES:
                raise MalformedForm("The form contains a field that is too long.", hint="Send only the files.")
    if not found:
        raise MalformedForm("No file was chosen.", hint="Choose the zips, then send the form.")


def _part(events: Iterator[MultipartSegment | bytes | None]) -> Iterator[bytes]:
    """Up to the boundary: the parser raises for a file without one, which is incomplete."""
    for event in events:
        if event is None:
            return
        if isinstance(event, bytes):
            yield event


def _payload(events: Iterator[MultipartSegment | bytes | None]) -> Iterator[bytes]:
    in_file = True
    for event in events:
        if in_file and isinstance(event, bytes):
            yield event
        # Read and drop the rest: the file is complete only if the form is.
        in_file = in_file and event is not None


def _events(
    content_type: str, body: Iterable[bytes], *, most_parts: int = MAX_PARTS
) -> Iterator[MultipartSegment | bytes | None]:
    kind, options = parse_options_header(content_type)
    if kind.lower() != "multipart/form-data" or not options.get("boundary"):
        raise MalformedForm(
            f"The request is {content_type or 'of no type'}, and multipart/form-data is expected.",
            hint="Send the form of the release page, or PUT the archive itself as the raw body.",
        )
    try:
        with PushMultipartParser(options["boundary"], max_segment_count=most_parts) as parser:
            # Not strict: that would refuse the line break that browsers send after the last boundary.
            for chunk in body:
                if chunk:
                    yield from parser.parse(chunk)
    except MultipartError as error:
        raise MalformedForm(
            f"The form cannot be read as multipart/form-data: {error}.", hint="Send the form again."
        ) from error


def status_of(refusal: RegistryError) -> HTTPStatus:
    if isinstance(refusal, MalformedForm):
        return HTTPStatus.BAD_REQUEST
    if isinstance(refusal, Conflict):
        return HTTPStatus.CONFLICT
    return STATUS.get(refusal.code, HTTPStatus.UNPROCESSABLE_ENTITY)
