"""Reads a whole zip by the rules and writes nothing: here an uploaded archive is believed or not (D17)."""

import os
from collections.abc import Iterator
from stat import S_IMODE
from typing import BinaryIO

from apps.lib.archive_rules.clock import Clock
from apps.lib.archive_rules.finds import Member
from apps.lib.archive_rules.limits import Limits
from apps.lib.archive_rules.names import broken_names
from apps.lib.archive_rules.outcome import MOST_REASONS, Entry, Refusal
from apps.lib.zips.contents import check_declared, member_pieces
from apps.lib.zips.ending import read_ending
from apps.lib.zips.kinds import broken_kinds, mode_of
from apps.lib.zips.layout import data_offsets
from apps.lib.zips.records import Record, read_records


def zip_members(file: BinaryIO, limits: Limits, clock: Clock, *, by_name: bool = False) -> Iterator[Member]:
    """The members of a seekable zip, in the order in which their data lie, or by the bytes of their names.

    Everything but the data is checked before the first one. Raises Refusal for anything that is the archive's fault.
    """
    size = file.seek(0, os.SEEK_END)
    ending = read_ending(file, size, limits)
    records = read_records(file, ending)
    reasons = [*broken_names((record.name for record in records), limits), *broken_kinds(records)]
    if reasons:
        raise Refusal(reasons[:MOST_REASONS])
    places = data_offsets(file, records, ending.directory_at)
    check_declared(records, size, limits)
    if by_name:
        places.sort(key=lambda place: place[0].raw_name)
    for record, at in places:
        yield _entry(record, at), member_pieces(file, record, at, clock)


def _entry(record: Record, at: int) -> Entry:
    mode = S_IMODE(mode_of(record))
    return Entry(record.name, record.size, mode, record.is_dir, at, record.packed, record.method)
