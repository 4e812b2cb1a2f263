"""Local records against the directory: the same facts twice, side by side without gaps (APPNOTE 4.3.7, 4.3.9).

Tools that read front to back and tools that start at the directory must see one and the same archive.
"""

import struct
from collections.abc import Sequence
from typing import BinaryIO

from apps.lib.archives.rules.outcome import Refusal, refuse, shown
from apps.lib.archives.zips.records import (
    DESCRIPTOR,
    EFFORT,
    MAX_VERSION_NEEDED,
    UNICODE_PATH_EXTRA,
    ZIP64_EXTRA,
    Record,
    fields_of,
    unicode_path_agrees,
    version_reason,
)

_LOCAL = struct.Struct("<4s5H3L2H")
_SIGNATURE = b"PK\x03\x04"
_DESCRIPTOR_SIGNATURE = b"PK\x07\x08"
_FULL32 = 0xFFFFFFFF


def data_offsets(file: BinaryIO, records: Sequence[Record], end: int) -> list[tuple[Record, int]]:
    """Each record with the place of its data, in the order of the file. `end`: where the directory begins."""
    ordered = sorted(records, key=lambda record: record.at)
    starts = [*(record.at for record in ordered), end]
    if first := starts[0]:
        raise refuse("prefix_bytes", f"{first} bytes before the first member", "a zip that starts with a member")
    return [(record, _data_offset(file, record, until)) for record, until in zip(ordered, starts[1:], strict=True)]


def _data_offset(file: BinaryIO, record: Record, until: int) -> int:
    """Reads one local record. `until` is where the next one begins."""
    file.seek(record.at)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_SIGNATURE):
        raise _mismatch(record, f"no local record at byte {record.at}")
    _, needed, flags, method, _, _, crc, packed, size, name_len, extra_len = _LOCAL.unpack(header)
    raw_name, extra = file.read(name_len), file.read(extra_len)
    data_at: int = record.at + _LOCAL.size + name_len + extra_len
    surplus = until - (data_at + record.packed)
    if surplus < 0:
        found = f"{-surplus} bytes shared with the next record"
        raise refuse("overlap", found, "records side by side", file=record.name)
    if raw_name != record.raw_name:
        raise _mismatch(record, f"the local name {raw_name[:80]!r}")
    if (flags ^ record.flags) & ~EFFORT or method != record.method:
        raise _mismatch(record, f"local flags {flags:#06x} and method {method}")
    if needed > MAX_VERSION_NEEDED:
        raise Refusal([version_reason(needed, shown(record.name))])
    wide, packed, size = _sizes(record, extra, packed, size)
    _check_facts(record, crc, packed, size)
    _check_surplus(file, record, surplus, wide=wide)
    return data_at


def _sizes(record: Record, extra: bytes, packed: int, size: int) -> tuple[bool, int, int]:
    """Whether the local record is zip64, and its sizes. Streaming tools may announce 8-byte sizes for small members."""
    try:
        fields = list(fields_of(extra))
    except ValueError:
        found = "local extra fields whose lengths do not add up"
        raise refuse("extra_field", found, "whole fields", file=record.name) from None
    wide = [data for kind, data in fields if kind == ZIP64_EXTRA]
    if any(kind == UNICODE_PATH_EXTRA and not unicode_path_agrees(data, record.raw_name) for kind, data in fields):
        raise refuse("unicode_path", "a second, different local name", "one name", file=record.name)
    if not wide:
        return False, packed, size
    if len(wide) > 1 or len(wide[0]) != 16:  # noqa: PLR2004 - two sizes of 8 bytes each
        raise refuse("zip64", "malformed local zip64 sizes", "two sizes of 8 bytes", file=record.name)
    long_size, long_packed = struct.unpack("<QQ", wide[0])
    return True, (long_packed if packed == _FULL32 else packed), (long_size if size == _FULL32 else size)


def _check_facts(record: Record, crc: int, packed: int, size: int) -> None:
    found, expected = (crc, packed, size), (record.crc, record.packed, record.size)
    # With a descriptor the local record was written before the data, so zeros are all it could say.
    for here, there in zip(found, expected, strict=True):
        if here != there and not (record.flags & DESCRIPTOR and here == 0):
            raise _mismatch(record, f"local CRC, packed and unpacked size {found}, in the directory {expected}")


def _check_surplus(file: BinaryIO, record: Record, surplus: int, *, wide: bool) -> None:
    """What lies between the data and the next record: nothing, or exactly the descriptor that was announced."""
    if not record.flags & DESCRIPTOR:
        if surplus:
            raise refuse("gap", f"{surplus} bytes between two members", "records side by side", file=record.name)
        return
    facts = struct.pack("<LQQ" if wide else "<LLL", record.crc, record.packed, record.size)
    file.seek(file.tell() + record.packed)
    if surplus not in (len(facts), len(facts) + 4) or file.read(surplus) not in (facts, _DESCRIPTOR_SIGNATURE + facts):
        found = f"a data descriptor of {surplus} bytes that disagrees with the directory"
        raise refuse("descriptor_mismatch", found, "the CRC and sizes of the directory", file=record.name)


def _mismatch(record: Record, found: str) -> Refusal:
    return refuse("local_mismatch", found, "what the directory says", file=record.name)
