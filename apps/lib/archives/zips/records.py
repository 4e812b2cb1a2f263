"""The central directory: one record for each member, read strictly (APPNOTE 4.3.12)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO
from zlib import crc32

from apps.lib.archives.rules.outcome import MOST_REASONS, Refusal, refuse, shown
from apps.lib.archives.zips.ending import Ending
from apps.lib.errors import Reason

STORED, DEFLATED = 0, 8
ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13  # plain, strong, and masked headers
DESCRIPTOR = 1 << 3
UTF8 = 1 << 11
# How hard the packer tried. No reader acts on it, and some packers write it into one of the two records only.
EFFORT = 1 << 1 | 1 << 2
# APPNOTE 4.4.3.2: version 6.3 of the format is the last. Python and Info-ZIP refuse what says more, Go does not look.
MAX_VERSION_NEEDED = 63
ZIP64_EXTRA, UNICODE_PATH_EXTRA = 0x0001, 0x7075

_RECORD = struct.Struct("<4x4H4x3L3H4x2L")  # without times, and what speaks of other disks and of texts
_SIGNATURE = b"PK\x01\x02"
_METHODS = {1: "shrunk", 6: "imploded", 9: "deflate64", 12: "bzip2", 14: "LZMA", 93: "zstd", 95: "XZ", 98: "PPMd"}


@dataclass(frozen=True, slots=True)
class Record:
    """One member as the directory describes it. `name` is decoded; `at` is where its local record begins."""

    raw_name: bytes
    name: str
    version_needed: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    at: int
    attributes: int
    made_by: int

    @property
    def is_dir(self) -> bool:
        return self.name.endswith("/")


def read_records(file: BinaryIO, ending: Ending) -> list[Record]:
    """All records in the order of the directory. Raises Refusal with up to twenty reasons."""
    file.seek(ending.directory_at)
    directory = file.read(ending.directory_size)
    records: list[Record] = []
    reasons: list[Reason] = []
    at = 0
    for number in range(1, ending.entries + 1):
        record, extra, at = _record(directory, at, number)
        records.append(record)
        reasons.extend(_broken(record, extra))
        if len(reasons) >= MOST_REASONS:
            break
    if reasons:
        raise Refusal(reasons)
    if at != len(directory):
        found = f"{len(directory) - at} bytes after the last of {ending.entries} directory records"
        raise refuse("directory_malformed", found, "as many records as the end record counts")
    return records


def fields_of(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """The extra fields of a record: (kind, data). Raises ValueError where their lengths do not add up."""
    at = 0
    while at < len(extra):
        kind, length = struct.unpack_from("<HH", extra.ljust(at + 4, b"\0"), at)
        data = extra[at + 4 : at + 4 + length]
        if at + 4 > len(extra) or len(data) != length:
            raise ValueError("extra fields of wrong length")
        yield kind, data
        at += 4 + length


def _record(directory: bytes, at: int, number: int) -> tuple[Record, bytes, int]:
    body = at + _RECORD.size
    if directory[at : at + 4] != _SIGNATURE or body > len(directory):
        raise refuse("directory_malformed", f"no directory record number {number} at its place", "one for each member")
    made_by, needed, flags, method, crc, packed, size, name_len, extra_len, comment_len, attributes, offset = (
        _RECORD.unpack_from(directory, at)
    )
    end = body + name_len + extra_len + comment_len
    if end > len(directory):
        raise refuse("directory_malformed", f"directory record number {number} runs past its end", "whole records")
    raw = directory[body : body + name_len]
    # Latin-1 stands in where the bytes are no UTF-8: the rules below refuse such a name, but need a text to show.
    name = _decoded(raw)
    record = Record(raw, name, needed, flags, method, crc, packed, size, offset, attributes, made_by)
    return record, directory[body + name_len : body + name_len + extra_len], end


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _broken(record: Record, extra: bytes) -> Iterator[Reason]:
    file = shown(record.name)
    if record.version_needed > MAX_VERSION_NEEDED:
        yield version_reason(record.version_needed, file)
    yield from _flag_reasons(record, file)
    if record.method not in (STORED, DEFLATED):
        method = _METHODS.get(record.method, f"number {record.method}")
        yield Reason(
            "method", f"compression method {method}", "stored or deflated", "Pack it as an ordinary zip.", file
        )
    yield from _name_encoding_reasons(record, file)
    yield from _extra_reasons(record, extra, file)


def version_reason(needed: int, file: str) -> Reason:
    found, expected = f"version {needed} of the zip format", f"at most {MAX_VERSION_NEEDED} (6.3)"
    return Reason("version_needed", found, expected, "Pack it as an ordinary zip.", file)


def _flag_reasons(record: Record, file: str) -> Iterator[Reason]:
    if record.flags & ENCRYPTED:
        yield Reason("encrypted", "an encrypted member", "no encryption", "Pack it without a password.", file)
    elif record.flags & ~(EFFORT | DESCRIPTOR | UTF8):
        yield Reason("flags", f"general flags {record.flags:#06x}", "only flags 1, 2, 3 and 11", "Pack it again.", file)


def _name_encoding_reasons(record: Record, file: str) -> Iterator[Reason]:
    mend = "Use ASCII names, or pack with a tool that marks names as UTF-8 (git archive does, zip on Linux does not)."
    if record.name.encode("utf-8") != record.raw_name:
        yield Reason("name_encoding", "a name that is not UTF-8", "UTF-8", mend, file)
    elif not record.raw_name.isascii() and not record.flags & UTF8:
        # Without the flag it is code page 437 to some tools and UTF-8 to others: two different names.
        yield Reason("name_encoding", "a non-ASCII name without the UTF-8 flag", "the flag", mend, file)


def _extra_reasons(record: Record, extra: bytes, file: str) -> Iterator[Reason]:
    try:
        fields = list(fields_of(extra))
    except ValueError:
        yield Reason("extra_field", "extra fields whose lengths do not add up", "whole fields", "Pack it again.", file)
        return
    for kind, data in fields:
        if kind == ZIP64_EXTRA:
            yield Reason("zip64", "zip64 sizes", "a plain member", "Pack it without zip64.", file)
        elif kind == UNICODE_PATH_EXTRA and not unicode_path_agrees(data, record.raw_name):
            yield Reason("unicode_path", "a second, different name", "one name", "Pack it again.", file)


def unicode_path_agrees(data: bytes, raw_name: bytes) -> bool:
    """APPNOTE 4.6.9: version 1, CRC-32 of the header's name, then the name in UTF-8. Readers differ in their choice."""
    return data[:5] == b"\x01" + crc32(raw_name).to_bytes(4, "little") and data[5:] == raw_name
