"""One tar header, and the records of an extended one, read strictly. Formats: POSIX (ustar, pax), GNU, and v7."""

import re
from dataclasses import dataclass

from apps.lib.archives.rules.outcome import Refusal, refuse

BLOCK = 512
ZEROS = bytes(BLOCK)
FILES = (b"0", b"\0")
HARD_LINK, SYMBOLIC_LINK, FOLDER, SPARSE = b"1", b"2", b"5", b"S"
PAX, PAX_GLOBAL, LONG_NAME, LONG_LINK = b"x", b"g", b"L", b"K"
HEADER_NAME_BYTES = 100

_NUMBER = re.compile(rb" *([0-7]+)[ \0]*")
_POSIX, _GNU, _V7 = b"ustar\x0000", b"ustar  \0", bytes(8)
_MAX_MODE = 0o177777  # permissions, and the type bits that some tools put there as well
_BASE_256, _NEGATIVE = 0x80, 0xFF
_STAR = b"tar\0"
_MAX_RECORD_DIGITS = 8


class Malformed(Exception):
    """The block is no header; `str()` is what was found."""


@dataclass(frozen=True, slots=True)
class Header:
    """`name` as the header has it, with the prefix of POSIX; `size` of the data that follows; `link` to what."""

    name: bytes
    kind: bytes
    size: int
    mode: int
    link: bytes


def read_header(block: bytes) -> Header:
    """Reads a block that is not all zeros. Raises Malformed."""
    # Some old tools added the bytes up as signed numbers; no reader should have to accept two different sums.
    if sum(block) - sum(block[148:156]) + 8 * 0x20 != _number(block[148:156], "checksum"):
        raise Malformed("a header whose checksum is wrong")
    mode = _number(block[100:108], "mode")
    if mode > _MAX_MODE:
        raise Malformed(f"the mode {mode:#o}")
    return Header(_name(block), block[156:157], _size(block[124:136]), mode, _text(block[157:257]))


def _name(block: bytes) -> bytes:
    name = _text(block[:HEADER_NAME_BYTES])
    magic = block[257:265]
    if magic == _POSIX:
        # In star's own format the prefix is shorter and dates follow it.
        if any(block[500:]):
            kind = "star's own format" if block[508:] == _STAR else "a header with bytes after its last field"
            raise Malformed(kind)
        prefix = _text(block[345:500])
        return prefix + b"/" + name if prefix else name
    if magic not in (_GNU, _V7):
        raise Malformed(f"the magic {magic!r}")
    # An incremental dump of GNU tar has dates there, which readers that go by the version alone take for the prefix.
    if any(block[345:500]) and block[156:157] in (*FILES, FOLDER):
        raise Malformed("bytes where POSIX has the first half of a name")
    return name


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _number(field: bytes, what: str) -> int:
    if not field.strip(b" \0"):
        return 0
    # The pattern because int() takes signs and underscores as well, as some readers do and others do not.
    match = _NUMBER.fullmatch(field)
    if not match:
        raise Malformed(f"the {what} {field!r}")
    return int(match[1], 8)


def _size(field: bytes) -> int:
    """GNU writes what does not fit into eleven octal digits in base 256: far too much, but refused for that."""
    if field[0] == _BASE_256:
        return int.from_bytes(field[1:], "big")
    if field[0] == _NEGATIVE:
        raise Malformed("a negative size")
    return _number(field, "size")


def read_records(data: bytes, file: str) -> dict[bytes, bytes]:
    """The `length key=value` records of an extended header (pax, 4.18). `file` is named in a refusal."""
    records: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        space = data.find(b" ", at, at + _MAX_RECORD_DIGITS + 1)
        digits = data[at:space] if space > at else b""
        if not digits.isdigit() or digits.startswith(b"0"):
            raise _malformed("a record without its length", file)
        end = at + int(digits)
        key, equals, value = data[space + 1 : end - 1].partition(b"=")
        if end > len(data) or data[end - 1 : end] != b"\n" or not key or not equals:
            raise _malformed(f"a record that is not a key and value of {int(digits)} bytes", file)
        if key in records:
            raise _malformed(f"a repeated record {key[:40]!r}", file)
        records[key] = value
        at = end
    return records


def _malformed(found: str, file: str) -> Refusal:
    return refuse("pax_malformed", found, "records of length, key and value", file=file)
