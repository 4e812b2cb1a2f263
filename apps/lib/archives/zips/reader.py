"""Reads a whole zip by the rules and writes nothing: here an uploaded archive is believed or not (D17)."""

import os
from collections.abc import Iterator
from stat import S_IMODE
from typing import BinaryIO

from apps.lib.archives.rules.clock import Clock
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Limits, at_most
from apps.lib.archives.rules.names import broken_names
from apps.lib.archives.rules.outcome import MOST_REASONS, Entry, Refusal, refuse
from apps.lib.archives.zips.contents import check_declared, member_pieces
from apps.lib.archives.zips.ending import read_ending
from apps.lib.archives.zips.kinds import broken_kinds, is_link, mode_of
from apps.lib.archives.zips.layout import data_offsets
from apps.lib.archives.zips.records import Record, read_records


def zip_members(
    file: BinaryIO, limits: Limits, clock: Clock, *, by_name: bool = False, links: bool = False
) -> Iterator[Member]:
    """The members of a seekable zip, in the order in which their data lie, or by the bytes of their names.

    Everything but the data is checked before the first one. Raises Refusal for anything that is the archive's fault;
    that includes symbolic links, unless the caller follows them (`links`).
    """
    size = file.seek(0, os.SEEK_END)
    ending = read_ending(file, size, limits)
    records = read_records(file, ending)
    reasons = [*broken_names((record.name for record in records), limits), *broken_kinds(records, links=links)]
    if reasons:
        raise Refusal(reasons[:MOST_REASONS])
    places = data_offsets(file, records, ending.directory_at)
    check_declared(records, size, limits)
    if by_name:
        places.sort(key=lambda place: place[0].raw_name)
    for record, at in places:
        pieces = member_pieces(file, record, at, clock)
        if is_link(record):
            yield _link(record, pieces, limits), iter(())
        else:
            yield _entry(record, at), pieces


def _entry(record: Record, at: int) -> Entry:
    mode = S_IMODE(mode_of(record))
    return Entry(record.name, record.size, mode, record.is_dir, at, record.packed, record.method)


def _link(record: Record, pieces: Iterator[bytes], limits: Limits) -> Entry:
    """A symbolic link: its data are the target."""
    if record.size > limits.name_bytes:
        found = f"a symbolic link to a path of {record.size} bytes"
        raise refuse("link_target", found, at_most(limits.name_bytes, "bytes"), file=record.name)
    try:
        target = b"".join(pieces).decode("utf-8")
    except UnicodeDecodeError:
        raise refuse("link_target", "a symbolic link to a path that is not UTF-8", "UTF-8", file=record.name) from None
    return Entry(record.name, 0, S_IMODE(mode_of(record)), is_dir=False, link="symbolic", target=target)
