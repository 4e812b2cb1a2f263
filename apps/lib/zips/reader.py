"""Reads a whole zip by the rules and writes nothing: here an uploaded archive is believed or not (D17)."""

import os
from collections.abc import Collection
from stat import S_IMODE
from typing import BinaryIO

from apps.lib.archive_rules.clock import Clock
from apps.lib.archive_rules.limits import Limits, at_most
from apps.lib.archive_rules.names import broken_names
from apps.lib.archive_rules.outcome import MOST_REASONS, Entry, Listing, Refusal, refuse
from apps.lib.digests import Tally
from apps.lib.zips.contents import STEP, check_declared, read_member
from apps.lib.zips.ending import read_ending
from apps.lib.zips.kinds import broken_kinds, mode_of
from apps.lib.zips.layout import data_offsets
from apps.lib.zips.records import Record, read_records


def read_zip(file: BinaryIO, limits: Limits, wanted: Collection[str] = ()) -> Listing:
    """Checks a seekable zip and returns what it holds, in the order of its directory.

    `wanted` are member names in any letter case, or `*.tf` for every such file in the root; their contents come
    back in `texts`. Raises Refusal for anything that is the archive's fault, and OSError where the file cannot be
    read, which is not; also MemoryError.
    """
    try:
        return _read(file, limits, wanted)
    except (Refusal, OSError, MemoryError):
        raise  # only who set the limit knows whose fault a MemoryError is; the child's parent does
    except Exception as error:
        # Whatever a crafted archive makes our parser do, it is no error page. Callers log this code as a defect.
        raise refuse("unreadable", f"data that cannot be read ({type(error).__name__})", "a zip archive") from error


def _read(file: BinaryIO, limits: Limits, wanted: Collection[str]) -> Listing:
    clock = Clock(limits.seconds)
    size = file.seek(0, os.SEEK_END)
    if size > limits.packed_bytes:
        expected = at_most(limits.packed_bytes, "bytes", limits.packed_setting)
        raise refuse("too_large", f"an archive of {size} bytes", expected, "Leave files out.")
    ending = read_ending(file, size, limits)
    records = read_records(file, ending)
    reasons = [*broken_names((record.name for record in records), limits), *broken_kinds(records)]
    if reasons:
        raise Refusal(reasons[:MOST_REASONS])
    places = data_offsets(file, records, ending.directory_at)
    check_declared(records, size, limits)
    texts = _texts(file, places, limits, wanted, clock)
    return Listing(_digest(file, clock), size, tuple(map(_entry, records)), texts, os.getpid())


def _texts(
    file: BinaryIO, places: list[tuple[Record, int]], limits: Limits, wanted: Collection[str], clock: Clock
) -> dict[str, bytes]:
    """Reads every member, and keeps of the wanted ones as much as fits."""
    names = frozenset(name.casefold() for name in wanted)
    texts: dict[str, bytes] = {}
    room = limits.texts_bytes
    for record, at in places:
        keep = min(limits.text_bytes, room) if _is_wanted(record.name, names) else 0
        head = read_member(file, record, at, keep, clock)
        if keep:
            texts[record.name] = head
            room -= len(head)
    return texts


def _is_wanted(name: str, names: frozenset[str]) -> bool:
    folded = name.casefold()
    if folded in names:
        return True
    _, dot, suffix = folded.rpartition(".")
    return "/" not in folded and bool(dot) and f"*.{suffix}" in names


def _digest(file: BinaryIO, clock: Clock) -> str:
    """Hashed here as well, so that whoever stores the file can prove that it is the one which was checked."""
    tally = Tally()
    file.seek(0)
    while chunk := file.read(STEP):
        clock.check()
        tally.update(chunk)
    return tally.hexdigest


def _entry(record: Record) -> Entry:
    return Entry(record.name, record.size, S_IMODE(mode_of(record)), record.is_dir)
