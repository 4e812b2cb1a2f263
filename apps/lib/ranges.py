"""The requested range of a stored object (RFC 9110, 14): one range, or everything."""

import re
from collections.abc import Mapping

_RANGE = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII | re.IGNORECASE)
_MAX_DIGITS = 18
_BEYOND = 10**_MAX_DIGITS  # past the end of any object


class Unsatisfiable(Exception):
    """A range that begins after the last byte, or ends before it begins (optional in the RFC)."""


def asked(headers: Mapping[str, str], *, size: int, etag: str) -> range | None:
    """The requested range; None for everything: no range, several, a malformed one, or one of an outdated copy."""
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
            raise Unsatisfiable
    if start >= size:
        raise Unsatisfiable
    return range(start, stop)


def _number(digits: str) -> int:
    """Any number of digits: Python refuses thousands of them, and no object is that large."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else _BEYOND
