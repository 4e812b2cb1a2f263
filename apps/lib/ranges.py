"""Which bytes of a stored object are asked for (RFC 9110, 14): one range, or everything."""

import re
from collections.abc import Mapping

_RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII | re.IGNORECASE)
_MAX_DIGITS = 18
_BEYOND = 10**_MAX_DIGITS  # the end of anything


class Unsatisfiable(Exception):
    """A range that begins behind the last byte, or ends before it begins (which may be ignored, or refused as here)."""


def asked(headers: Mapping[str, str], *, size: int, etag: str) -> range | None:
    """The one range that is asked for; None is "everything": no range, several, a malformed one, or an older copy's."""
    found = _RANGE.fullmatch(headers.get("Range", "").strip())
    # If-Range compares strongly, and there is no Last-Modified that a date could be compared with.
    if found is None or headers.get("If-Range", etag).strip() != etag:
        return None
    first, last = found.groups()
    if not first and not last:
        return None
    if not first:
        start, stop = max(0, size - _number(last)), size
    else:
        start, stop = _number(first), min(_number(last) + 1 if last else size, size)
        if last and _number(last) < start:
            raise Unsatisfiable
    if start >= size:
        raise Unsatisfiable
    return range(start, stop)


def _number(digits: str) -> int:
    """However many there are: Python refuses to read thousands of them, and nothing has so many bytes."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else _BEYOND
