"""Reads a request body from a WSGI environ in steps, so that memory stays flat in the size of an upload (D2)."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from apps.lib.errors import Invalid, RegistryError

STEP = 512 * 1024
_MOST_DIGITS = 18


class Disconnected(RegistryError):
    """The client went away in the middle of its body. Nobody is left to read the answer."""

    code = "disconnected"


class Reader(Protocol):
    """A server's input. Where it has `read1`, as io's streams do, that hands on what has come without copying it."""

    def read(self, size: int, /) -> bytes: ...


def declared_length(environ: Mapping[str, Any]) -> int | None:
    """CONTENT_LENGTH in bytes, None where none was sent. Raises Invalid where it is no plain number."""
    text = str(environ.get("CONTENT_LENGTH") or "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise Invalid(f"Content-Length is {text[:40]!r}, expected a plain decimal number of bytes")
    return int(text)


def chunks(environ: Mapping[str, Any], *, step: int = STEP) -> Iterator[bytes]:
    """Yields the body in pieces of 1 to `step` bytes.

    Raises Invalid for a bad or missing length and for a body that is not as long as it said, Disconnected where
    the server's reader fails. A length that is wrong is seen only at the end: keep nothing until this has ended.
    """
    length = declared_length(environ)
    reader: Reader = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):
        # HTTP/2 and chunked uploads need no length; where there is one, it is compared, never trusted to stop at:
        # bytes left unread would be taken for the next request of the connection.
        yield from _to_the_end(reader, length, step)
    elif length is None:
        raise Invalid("the request has no Content-Length", mend="Send Content-Length with the body.")
    else:
        yield from _exactly(reader, length, step)


def _to_the_end(reader: Reader, length: int | None, step: int) -> Iterator[bytes]:
    seen = 0
    while chunk := _read(reader, step):
        seen += len(chunk)
        yield chunk
    if length is not None and seen != length:
        raise _wrong_length(seen, length)


def _exactly(reader: Reader, length: int, step: int) -> Iterator[bytes]:
    seen = 0
    while seen < length:
        # PEP 3333: without input_terminated, a read past Content-Length may block for ever.
        chunk = _read(reader, min(step, length - seen))
        if not chunk:
            raise _wrong_length(seen, length)
        seen += len(chunk)
        yield chunk


def _read(reader: Reader, size: int) -> bytes:
    try:
        return bytes(getattr(reader, "read1", reader.read)(size))
    except OSError as error:
        raise Disconnected(f"the connection broke while the body was read ({error})") from error


def _wrong_length(seen: int, length: int) -> Invalid:
    which = "short" if seen < length else "long"
    return Invalid(f"{which} body: found {seen} bytes, expected the {length} of Content-Length", mend="Send it again.")
