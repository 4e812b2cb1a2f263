"""Read a request body from a WSGI environ in chunks, so that memory stays flat in the size of an upload (D2).

Mark views that read the body this way with `streamed`. For all other views the server reads a small body completely, or
refuses it, before the view is called.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from apps.lib.errors import Invalid, RegistryError, TooLarge

View = TypeVar("View")

STEP = 512 * 1024
_MAX_DIGITS = 18
# WSGI environ key: the RegistryError for which the body was not read.
REFUSAL = "larder.body_refusal"
# WSGI environ key: the whole body was there before the view was called.
ARRIVED = "larder.body_has_arrived"


class Disconnected(RegistryError):
    """The client disconnected during its body. No one reads the answer."""

    code = "disconnected"


class Incomplete(Invalid):
    """The body is shorter than its Content-Length: a broken connection, behind servers that report none."""


class TooSlow(RegistryError):
    code = "too_slow"

    def __init__(self) -> None:
        super().__init__("The request body arrived too slowly.", hint="Send it again over a faster connection.")


def streamed(*methods: str) -> Callable[[View], View]:
    """Mark a view, function or class, that reads the body of these methods itself, by `chunks`."""

    def mark(view: View) -> View:
        view.streamed_methods = methods  # type: ignore[attr-defined]  # read by is_streamed
        return view

    return mark


def is_streamed(view: Callable[..., Any], method: str) -> bool:
    """The view, as found in the URL configuration, is marked for this method."""
    return method in getattr(getattr(view, "view_class", view), "streamed_methods", ())


def refusal(environ: Mapping[str, Any], *, limit: int) -> RegistryError | None:
    """The reason not to read the body of an unmarked view: the server's own, or a length over `limit`."""
    if REFUSAL in environ:
        found: RegistryError = environ[REFUSAL]
        return found
    try:
        length = declared_length(environ)
    except Invalid as error:
        return error
    return too_large(limit) if length is not None and length > limit else None


def too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The request body is larger than {limit:,} bytes (limit json_max_bytes of LARDER_LIMITS).", hint="Send less."
    )


def check(environ: Mapping[str, Any]) -> None:
    """Raise the refusal in the environ, for edges with their own error dialect."""
    if REFUSAL in environ:
        raise environ[REFUSAL]


class Reader(Protocol):
    """A server's input. `read1`, if there is one as in io streams, returns received bytes without a copy."""

    def read(self, size: int, /) -> bytes: ...


def declared_length(environ: Mapping[str, Any]) -> int | None:
    """CONTENT_LENGTH in bytes, None if it was not sent. Raises Invalid unless it is a plain number."""
    text = str(environ.get("CONTENT_LENGTH") or "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise Invalid(f"Content-Length is {text[:40]!r}, expected a plain decimal number of bytes")
    return int(text)


def chunks(environ: Mapping[str, Any], *, step: int = STEP) -> Iterator[bytes]:
    """Yield the body in pieces of 1 to `step` bytes.

    Raises Invalid for a bad or missing length and for a body that does not match its length, Disconnected if the
    server's reader fails. A wrong length shows only at the end: commit nothing before.
    """
    length = declared_length(environ)
    reader: Reader = environ["wsgi.input"]
    seen = 0
    if environ.get("wsgi.input_terminated"):
        # HTTP/2 and chunked uploads need no length; a given one is compared, never used as the place to stop:
        # unread bytes would become the next request of the connection.
        while chunk := _read(reader, step):
            seen += len(chunk)
            yield chunk
    elif length is None:
        raise Invalid("the request has no Content-Length", hint="Send Content-Length with the body.")
    else:
        # PEP 3333: without input_terminated, a read past Content-Length may block for ever.
        while seen < length and (chunk := _read(reader, min(step, length - seen))):
            seen += len(chunk)
            yield chunk
    if length is not None and seen != length:
        which, kind = ("short", Incomplete) if seen < length else ("long", Invalid)
        raise kind(f"{which} body: found {seen} bytes, expected the {length} of Content-Length", hint="Send it again.")


def _read(reader: Reader, size: int) -> bytes:
    try:
        return bytes(getattr(reader, "read1", reader.read)(size))
    except TimeoutError:
        raise TooSlow from None
    except OSError as error:
        raise Disconnected(f"the connection broke while the body was read ({error})") from error
