"""The end record of a zip: found by hand, since whoever reads it leniently reads another archive than the next tool.

APPNOTE 4.3.16. Everything else hangs on it: how many members there are, and where their directory lies.
"""

import struct
from dataclasses import dataclass
from typing import BinaryIO

from apps.lib.archives.rules.limits import Limits, at_most
from apps.lib.archives.rules.magic import HEAD_BYTES, looks_like
from apps.lib.archives.rules.outcome import Refusal, refuse

_SIGNATURE = b"PK\x05\x06"
_ZIP64_LOCATOR = b"PK\x06\x07"
_RECORD = struct.Struct("<4s4H2LH")
_LOCATOR_BYTES = 20
_LONGEST_COMMENT = 256
_FURTHEST = _RECORD.size + 0xFFFF  # as far back as the format lets an end record begin
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Ending:
    """Where the central directory lies. Offsets are from the start of the file."""

    entries: int
    directory_at: int
    directory_size: int


def read_ending(file: BinaryIO, size: int, limits: Limits) -> Ending:
    """Finds and checks the end record of a file of `size` bytes. Raises Refusal."""
    if size == 0:
        raise refuse("empty", "a file of 0 bytes", "a zip archive", "Upload it again.")
    tail_at = max(0, size - _FURTHEST - _LOCATOR_BYTES)
    file.seek(tail_at)
    tail = file.read(size - tail_at)
    at = _find(file, tail, size)
    _, disk, directory_disk, here, entries, directory_size, directory_at, _ = _RECORD.unpack_from(tail, at)
    if _FULL16 in (disk, here, entries) or _FULL32 in (directory_size, directory_at) or _has_locator(tail, at):
        raise refuse("zip64", "a zip64 end record", "a plain zip", "Pack it with a tool that does not force zip64.")
    if disk or directory_disk or here != entries:
        raise refuse("multi_disk", "one part of a split archive", "a single zip file", "Pack it into one file.")
    _check_comment(tail[at + _RECORD.size :])
    # Before a single object is built: the count alone says what reading the directory would cost.
    if entries > limits.entries:
        expected = at_most(limits.entries, "entries", limits.entries_setting)
        raise refuse("too_many_entries", f"{entries} entries", expected, "Leave files out.")
    if directory_size > limits.directory_bytes:
        expected = at_most(limits.directory_bytes, "bytes")
        raise refuse("too_large_directory", f"a directory of {directory_size} bytes", expected, "Use shorter names.")
    _check_place(file, directory_at, directory_size, tail_at + at)
    return Ending(entries, directory_at, directory_size)


def _find(file: BinaryIO, tail: bytes, size: int) -> int:
    """The end record's place in the tail: the one whose comment ends where the file ends."""
    places = [at for at in _occurrences(tail) if at + _RECORD.size <= len(tail)]
    ends = {at: at + _RECORD.size + int.from_bytes(tail[at + 20 : at + 22], "little") - len(tail) for at in places}
    exact = [at for at, surplus in ends.items() if surplus == 0]
    if len(exact) > 1:
        raise refuse("comment", "a second end record in the comment", "one end record")
    if exact:
        return exact[0]
    raise _without_end(file, size, ends)


def _occurrences(tail: bytes) -> list[int]:
    places = []
    at = tail.find(_SIGNATURE)
    while at >= 0:
        places.append(at)
        at = tail.find(_SIGNATURE, at + 1)
    return places


def _without_end(file: BinaryIO, size: int, ends: dict[int, int]) -> Refusal:
    if ends and (surplus := list(ends.values())[-1]) < 0:
        return refuse("trailing_bytes", f"{-surplus} bytes after the end record", "nothing after it")
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if head.startswith(b"PK"):
        return refuse("truncated", f"{size} bytes without a whole end record", "a complete zip", "Upload it again.")
    return refuse("not_a_zip", looks_like(head), "a zip archive", "Pack the files as .zip.")


def _has_locator(tail: bytes, at: int) -> bool:
    return tail[max(0, at - _LOCATOR_BYTES) : at].startswith(_ZIP64_LOCATOR) and at >= _LOCATOR_BYTES


def _check_comment(comment: bytes) -> None:
    """`git archive` writes the commit id there. What could be taken for another record must not be."""
    expected = f"at most {_LONGEST_COMMENT} printable characters without 'PK'"
    try:
        text = comment.decode("utf-8")
    except UnicodeDecodeError:
        raise refuse("comment", "an archive comment that is not UTF-8", expected) from None
    if len(text) > _LONGEST_COMMENT:
        raise refuse("comment", f"an archive comment of {len(text)} characters", expected)
    if "PK" in text or not text.isprintable():
        raise refuse("comment", f"the archive comment {text[:40]!r}", expected)


def _check_place(file: BinaryIO, directory_at: int, directory_size: int, ending_at: int) -> None:
    end = directory_at + directory_size
    if end == ending_at:
        return
    before = ending_at - end
    file.seek(max(0, before))
    # A program put in front (a self-extracting zip) shifts everything: the offsets are right, counted from its end.
    if before > 0 and file.read(4) in (b"PK\x03\x04", _SIGNATURE):
        raise refuse("prefix_bytes", f"{before} bytes before the first member", "a zip that starts with a member")
    found = f"a directory that ends at byte {end}"
    raise refuse("directory_misplaced", found, f"its end at byte {ending_at}, where the end record begins")
