"""Reads a zip and writes nothing: here an upload is trusted, so what tools could read as two archives is refused (D17).

`zipfile` is not used: it ignores the count in the end record, takes bytes before the first member and after the last,
believes the directory whatever the local records say, and stops reading a member at its declared size. A guard around
it must read the same records and inflate the same data. Numbers of sections are APPNOTE's.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Clock, Limits, at_most
from apps.lib.archives.rules.magic import HEAD_BYTES, looks_like
from apps.lib.archives.rules.names import broken_names
from apps.lib.archives.rules.outcome import MAX_REASONS, Entry, Refusal, refuse, shown
from apps.lib.archives.zip_contents import DEFLATED, STORED, Record, member_pieces
from apps.lib.errors import Reason

_MAX_COMMENT_CHARACTERS = 256
# 4.4.3.2: version 6.3 of the format is the last. Python and Info-ZIP refuse what says more, Go does not look.
_MAX_VERSION_NEEDED = 63

_END, _END_SIGNATURE = struct.Struct("<4s4H2LH"), b"PK\x05\x06"
_LOCATOR_BYTES, _LOCATOR_SIGNATURE = 20, b"PK\x06\x07"
_RECORD, _RECORD_SIGNATURE = struct.Struct("<4x4H4x3L3H4x2L"), b"PK\x01\x02"
_LOCAL, _LOCAL_SIGNATURE = struct.Struct("<4x3H4x3L2H"), b"PK\x03\x04"
_DESCRIPTOR_SIGNATURE = b"PK\x07\x08"
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF

_METHODS = {1: "shrunk", 6: "imploded", 9: "deflate64", 12: "bzip2", 14: "LZMA", 93: "zstd", 95: "XZ", 98: "PPMd"}
_ENCRYPTED = 1 << 0 | 1 << 6 | 1 << 13  # plain, strong, and masked headers
# How hard the packer tried. No reader acts on it, and some packers write it into one of the two records only.
_EFFORT = 1 << 1 | 1 << 2
_DESCRIPTOR, _UTF8 = 1 << 3, 1 << 11
_ZIP64_EXTRA, _UNICODE_PATH_EXTRA = 0x0001, 0x7075

_DOS_FOLDER = 0x10
# Other systems put something else into the upper half of the attributes: one reader sees a link, the next one a file.
_UNIX_LIKE = (3, 19)
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}


def zip_members(
    file: BinaryIO, limits: Limits, clock: Clock, *, by_name: bool = False, links: bool = False
) -> Iterator[Member]:
    """The members of a seekable zip, in the order in which their data lie, or by name.

    Everything except the data is checked before the first one. Raises Refusal for anything that is the archive's
    fault; that includes symbolic links, unless the caller follows them (`links`).
    """
    size = file.seek(0, os.SEEK_END)
    entries, directory_at, directory_size = _read_end(file, size, limits)
    file.seek(directory_at)
    records = _read_directory(file.read(directory_size), entries)
    reasons = [
        *broken_names((record.path for record in records if record.name != "./"), limits, twins=links),
        *_broken_kinds(records, links=links),
    ]
    if reasons:
        raise Refusal(reasons[:MAX_REASONS])
    places = _data_places(file, records, directory_at)
    _check_declared(records, size, limits)
    if by_name:
        places.sort(key=lambda place: place[0].path)  # by code points, the order of the bytes of UTF-8
    for record, at in places:
        pieces = member_pieces(file, record, at, clock)
        mode = stat.S_IMODE(record.mode)
        if not record.path:
            continue
        if stat.S_ISLNK(record.mode):
            target = _target(record, pieces, limits)
            yield Entry(record.path, 0, mode, is_dir=False, link="symbolic", target=target), iter(())
        else:
            place = (at, record.packed, record.method)
            yield Entry(record.path, record.size, mode, record.is_dir, *place, crc=record.crc), pieces


def _read_end(file: BinaryIO, size: int, limits: Limits) -> tuple[int, int, int]:
    """The end record (4.3.16): how many entries the directory has, where it begins and how long it is."""
    if size == 0:
        raise refuse("empty", "a file of 0 bytes", "a zip archive", "Upload it again.")
    tail_at = max(0, size - _END.size - _FULL16 - _LOCATOR_BYTES)
    file.seek(tail_at)
    tail = file.read(size - tail_at)
    at = _find_end(file, tail, size)
    _, disk, directory_disk, here, entries, length, start, _ = _END.unpack_from(tail, at)
    locator = tail[max(0, at - _LOCATOR_BYTES) : at]
    if _FULL16 in (disk, here, entries) or _FULL32 in (length, start) or locator.startswith(_LOCATOR_SIGNATURE):
        raise refuse("zip64", "a zip64 end record", "a plain zip", "Pack it with a tool that does not force zip64.")
    if disk or directory_disk or here != entries:
        raise refuse("multi_disk", "one part of a split archive", "a single zip file", "Pack it into one file.")
    # `git archive` writes the commit id there. What could be taken for another record must not be there.
    text = tail[at + _END.size :].decode("utf-8", "replace")
    if len(text) > _MAX_COMMENT_CHARACTERS or "PK" in text or "\ufffd" in text or not text.isprintable():
        expected = f"at most {_MAX_COMMENT_CHARACTERS} printable characters of UTF-8 without 'PK'"
        raise refuse("comment", f"an archive comment of {len(text)} characters, {text[:40]!r}", expected)
    # Before a single object is built: the end record says how much reading the directory would cost.
    limits.check_entries(entries)
    limits.check_directory(length, "a directory")
    _check_place(file, start + length, tail_at + at)
    return entries, start, length


def _find_end(file: BinaryIO, tail: bytes, size: int) -> int:
    """The end record's place in the tail. Its comment ends where the file does, so a second one lies in its comment."""
    surplus = -1
    at = tail.find(_END_SIGNATURE)
    while 0 <= at <= len(tail) - _END.size:
        surplus = len(tail) - at - _END.size - int.from_bytes(tail[at + 20 : at + 22], "little")
        if not surplus:
            return at
        at = tail.find(_END_SIGNATURE, at + 1)
    if surplus > 0:
        raise refuse("trailing_bytes", f"{surplus} bytes after the end record", "nothing after it")
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if head.startswith(b"PK"):
        raise refuse("truncated", f"{size} bytes without a whole end record", "a complete zip", "Upload it again.")
    raise refuse("not_a_zip", looks_like(head), "a zip archive", "Pack the files as .zip.")


def _check_place(file: BinaryIO, directory_end: int, end_at: int) -> None:
    surplus = end_at - directory_end
    if not surplus:
        return
    file.seek(max(0, surplus))
    # A program put in front (a self-extracting zip) shifts everything: the offsets are right, counted from its end.
    if surplus > 0 and file.read(4) in (_LOCAL_SIGNATURE, _END_SIGNATURE):
        raise refuse("prefix_bytes", f"{surplus} bytes before the first member", "a zip that starts with a member")
    expected = f"its end at byte {end_at}, where the end record begins"
    raise refuse("directory_misplaced", f"a directory that ends at byte {directory_end}", expected)


def _read_directory(directory: bytes, entries: int) -> list[Record]:
    """All records in the order of the directory. Raises Refusal with up to twenty reasons."""
    records: list[Record] = []
    reasons: list[Reason] = []
    at = 0
    for number in range(1, entries + 1):
        name_at = at + _RECORD.size
        if not directory.startswith(_RECORD_SIGNATURE, at) or name_at > len(directory):
            raise refuse("directory_malformed", f"no directory record number {number}", "one for each member")
        *fields, name_length, extra_length, comment_length, attributes, local_at = _RECORD.unpack_from(directory, at)
        extra_at = name_at + name_length
        at = extra_at + extra_length + comment_length
        if at > len(directory):
            raise refuse("directory_malformed", f"directory record {number} runs past its end", "whole records")
        raw_name, extra = directory[name_at:extra_at], directory[extra_at : extra_at + extra_length]
        record = Record._make([*fields, attributes, local_at, _decoded(raw_name)])
        records.append(record)
        reasons += _broken_record(record, raw_name, extra)
        if len(reasons) >= MAX_REASONS:
            break
    if reasons:
        raise Refusal(reasons)
    if at != len(directory):
        found = f"{len(directory) - at} bytes after the last of {entries} directory records"
        raise refuse("directory_malformed", found, "as many records as the end record counts")
    return records


def _decoded(raw_name: bytes) -> str:
    try:
        return raw_name.decode("utf-8")
    except UnicodeDecodeError:
        return raw_name.decode("latin-1")  # it is refused, but the refusal needs a text to show


def _broken_record(record: Record, raw_name: bytes, extra: bytes) -> Iterator[Reason]:
    file, pack = shown(record.name), "Pack it as an ordinary zip."
    if record.needed > _MAX_VERSION_NEEDED:
        yield _too_new(record.needed, file)
    if record.flags & _ENCRYPTED:
        yield Reason("encrypted", "an encrypted member", "no encryption", "Pack it without a password.", file)
    elif record.flags & ~(_EFFORT | _DESCRIPTOR | _UTF8):
        yield Reason("flags", f"general flags {record.flags:#06x}", "only flags 1, 2, 3 and 11", pack, file)
    if record.method not in (STORED, DEFLATED):
        found = f"compression method {_METHODS.get(record.method, f'number {record.method}')}"
        yield Reason("method", found, "stored or deflated", pack, file)
    hint = "Use ASCII names, or pack with a tool that marks names as UTF-8 (git archive does, zip on Linux does not)."
    if record.name.encode("utf-8") != raw_name:
        yield Reason("name_encoding", "a name that is not UTF-8", "UTF-8", hint, file)
    elif not record.flags & _UTF8 and not raw_name.isascii():
        # Without the flag it is code page 437 to some tools and UTF-8 to others: two different names.
        yield Reason("name_encoding", "a non-ASCII name without the UTF-8 flag", "the flag", hint, file)
    if extra:
        try:
            if _zip64_fields(extra, raw_name):
                yield Reason("zip64", "zip64 sizes", "a plain member", "Pack it without zip64.", file)
        except Refusal as refusal:
            yield from refusal.reasons


def _too_new(needed: int, file: str) -> Reason:
    found, expected = f"version {needed} of the zip format", f"at most {_MAX_VERSION_NEEDED} (6.3)"
    return Reason("version_needed", found, expected, "Pack it as an ordinary zip.", file)


def _zip64_fields(extra: bytes, raw_name: bytes) -> list[bytes]:
    """The zip64 sizes among the extra fields of a record. Raises Refusal for fields that contradict the record."""
    found = []
    at = 0
    while at < len(extra):
        kind, length = struct.unpack_from("<HH", extra.ljust(at + 4, b"\0"), at)
        data = extra[at + 4 : at + 4 + length]
        at += 4 + length
        if at > len(extra):
            raise refuse("extra_field", "extra fields of wrong length", "whole fields", file=_decoded(raw_name))
        # 4.6.9: version 1, CRC-32 of the header's name, then the name in UTF-8. Readers differ in their choice.
        if kind == _UNICODE_PATH_EXTRA and data != b"\x01" + zlib.crc32(raw_name).to_bytes(4, "little") + raw_name:
            raise refuse("unicode_path", "a second, different name", "one name", file=_decoded(raw_name))
        if kind == _ZIP64_EXTRA:
            found.append(data)
    return found


def _broken_kinds(records: list[Record], *, links: bool) -> Iterator[Reason]:
    """A reason for each member of a kind that is not allowed, or that contradicts its own name."""
    expected = "regular files, folders and symbolic links" if links else "regular files and folders only"
    for record in records:
        kind = stat.S_IFMT(record.mode)
        if not links or kind != stat.S_IFLNK:
            found = _wrong_kind(record, kind)
        elif record.made_by >> 8 not in _UNIX_LIKE:
            found = "a symbolic link that was not packed on Unix"
        else:
            is_folder = record.is_dir or record.attributes & _DOS_FOLDER
            found = "a symbolic link that is also a folder" if is_folder else ""
        if found:
            yield Reason("file_type", found, expected, "Leave it out, or pack the file itself.", shown(record.name))


def _wrong_kind(record: Record, kind: int) -> str:
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return _KINDS.get(kind, f"a member of the unknown type {kind:#o}")
    if record.is_dir:
        return "a file whose name ends in '/'" if kind == stat.S_IFREG or record.size else ""
    # The low byte means DOS attributes to every reader, whichever system packed it.
    if kind == stat.S_IFDIR or record.attributes & _DOS_FOLDER:
        return "a folder whose name does not end in '/'"
    # Folders may carry setgid: a shared work tree has it, and it grants nobody anything.
    return "a setuid or setgid file" if record.mode & (stat.S_ISUID | stat.S_ISGID) else ""


def _check_declared(records: list[Record], packed: int, limits: Limits) -> None:
    """Adds up what the directory admits. A directory that says less than the truth is caught while reading."""
    for record in records:
        limits.check_file(record.name, record.size)
    total = sum(record.size for record in records)
    limits.check_unpacked(total)
    limits.check_ratio(total, packed)


def _data_places(file: BinaryIO, records: list[Record], end: int) -> list[tuple[Record, int]]:
    """Each record with the place of its data, in the order of the file. `end`: where the directory begins.

    Tools that read front to back, by the local records, and tools that start at the directory must see one archive.
    """
    ordered = sorted(records, key=lambda record: record.at)
    starts = [*(record.at for record in ordered), end]
    if starts[0]:
        raise refuse("prefix_bytes", f"{starts[0]} bytes before the first member", "a zip that starts with a member")
    return [(record, _data_place(file, record, until)) for record, until in zip(ordered, starts[1:], strict=True)]


def _data_place(file: BinaryIO, record: Record, until: int) -> int:
    """Compares one local record (4.3.7) with the directory. `until` is where the next one begins."""
    file.seek(record.at)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(_LOCAL_SIGNATURE):
        raise _mismatch(record, f"no local record at byte {record.at}")
    needed, flags, method, crc, packed, size, name_length, extra_length = _LOCAL.unpack(header)
    raw_name, extra = file.read(name_length), file.read(extra_length)
    data_at: int = record.at + _LOCAL.size + name_length + extra_length
    surplus = until - (data_at + record.packed)
    if surplus < 0:
        raise refuse("overlap", f"{-surplus} bytes shared with the next record", "no overlap", file=record.name)
    if raw_name != record.name.encode("utf-8"):
        raise _mismatch(record, f"the local name {raw_name[:80]!r}")
    if (flags ^ record.flags) & ~_EFFORT or method != record.method:
        raise _mismatch(record, f"local flags {flags:#06x} and method {method}")
    if needed > _MAX_VERSION_NEEDED:
        raise Refusal([_too_new(needed, shown(record.name))])
    wide = _zip64_fields(extra, raw_name)
    if wide:  # streaming tools may announce sizes of 8 bytes, also for small members
        if len(wide) > 1 or len(wide[0]) != 16:  # noqa: PLR2004 - two sizes of 8 bytes each
            raise refuse("zip64", "malformed local zip64 sizes", "two sizes of 8 bytes", file=record.name)
        long_size, long_packed = struct.unpack("<QQ", wide[0])
        size = long_size if size == _FULL32 else size
        packed = long_packed if packed == _FULL32 else packed
    found, expected = (crc, packed, size), (record.crc, record.packed, record.size)
    # With a descriptor the local record was written before the data, so zeros are all it could say.
    if any(here != there and (here or not flags & _DESCRIPTOR) for here, there in zip(found, expected, strict=True)):
        raise _mismatch(record, f"local CRC, packed and unpacked size {found}, in the directory {expected}")
    _check_surplus(file, record, surplus, "<LQQ" if wide else "<LLL")
    return data_at


def _check_surplus(file: BinaryIO, record: Record, surplus: int, sizes: str) -> None:
    """Between the data and the next record is nothing, or exactly the descriptor that was announced (4.3.9)."""
    if not record.flags & _DESCRIPTOR:
        if surplus:
            raise refuse("gap", f"{surplus} bytes between two members", "records side by side", file=record.name)
        return
    facts = struct.pack(sizes, record.crc, record.packed, record.size)
    file.seek(file.tell() + record.packed)
    if surplus not in (len(facts), len(facts) + 4) or file.read(surplus) not in (facts, _DESCRIPTOR_SIGNATURE + facts):
        found = f"a data descriptor of {surplus} bytes that disagrees with the directory"
        raise refuse("descriptor_mismatch", found, "the CRC and sizes of the directory", file=record.name)


def _mismatch(record: Record, found: str) -> Refusal:
    return refuse("local_mismatch", found, "the same as in the directory", file=record.name)


def _target(record: Record, pieces: Iterator[bytes], limits: Limits) -> str:
    """The path that a symbolic link leads to: its data."""
    if record.size > limits.name_bytes:
        found = f"a symbolic link to a path of {record.size} bytes"
        raise refuse("link_target", found, at_most(limits.name_bytes, "bytes"), file=record.name)
    try:
        return b"".join(pieces).decode("utf-8")
    except UnicodeDecodeError:
        raise refuse("link_target", "a symbolic link to a path that is not UTF-8", "UTF-8", file=record.name) from None
