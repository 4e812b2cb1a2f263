"""Reads a whole compressed tar by the rules, from front to back (D17).

Our own reader, as for zips: tarfile takes damage for the end, lets the last of several extended headers win, and
unfolds holes. Whatever two tools could read as two archives is refused here.
"""

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Literal

from apps.lib.amounts import amount_text
from apps.lib.archives.rules.clock import Clock
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Limits, at_most
from apps.lib.archives.rules.magic import looks_like
from apps.lib.archives.rules.names import broken_names
from apps.lib.archives.rules.outcome import MOST_REASONS, Entry, LinkKind, Refusal, refuse, shown
from apps.lib.archives.tars.extensions import Extensions
from apps.lib.archives.tars.headers import (
    BLOCK,
    FILES,
    FOLDER,
    HARD_LINK,
    LONG_LINK,
    LONG_NAME,
    PAX,
    SYMBOLIC_LINK,
    ZEROS,
    Header,
    Malformed,
    read_header,
)
from apps.lib.archives.tars.kinds import broken_kind
from apps.lib.archives.tars.streams import STEP, Unpacked, ends_inside, gunzipped, unxzed
from apps.lib.errors import Reason

_UNPACKERS = {"tar.gz": gunzipped, "tar.xz": unxzed}
_MOST_PADDING = 1024 * 1024  # tar fills its last record; the longest that GNU tar is told to write in practice
_ROOT = (b".", b"./")
_LINKS: dict[bytes, LinkKind] = {HARD_LINK: "hard", SYMBOLIC_LINK: "symbolic"}


def tar_members(
    file: BinaryIO, form: Literal["tar.gz", "tar.xz"], limits: Limits, clock: Clock, *, links: bool = False
) -> Iterator[Member]:
    """The members of a compressed tar in its own order, their names without a leading `./`.

    What only the whole tells (names that clash, bytes behind the end) is refused after the last member. Links are
    refused, unless the caller follows them (`links`).
    """
    packed = file.seek(0, os.SEEK_END)
    data = Unpacked(_UNPACKERS[form](file, clock))
    return _Reader(data, packed, limits, links=links).members()


class _Reader:
    def __init__(self, data: Unpacked, packed: int, limits: Limits, *, links: bool) -> None:
        self._data = data
        self._packed = packed
        self._limits = limits
        self._links = links
        self._names: list[str] = []
        self._reasons: list[Reason] = []  # against kinds of members and spellings; names are judged together
        self._count = 0
        self._name_bytes = 0
        self._total = 0

    def members(self) -> Iterator[Member]:
        extensions = Extensions(self._data, self._limits)
        for header in self._headers():
            if extensions.take(header):
                continue
            raw_name, raw_target = extensions.names_of(header)
            entry = self._entry(header, raw_name, raw_target)
            pieces = self._pieces(entry)
            if not self._reasons and raw_name not in _ROOT:
                yield entry, pieces
            for _ in pieces:
                pass  # what nobody wanted to read
        extensions.check_none_open()
        if reasons := [*broken_names(self._names, self._limits), *self._reasons]:
            raise Refusal(reasons[:MOST_REASONS])

    def _headers(self) -> Iterator[Header]:
        """Reads header after header, and the end. Who takes them reads what lies between."""
        seen = 0
        while (block := self._data.up_to(BLOCK)) != ZEROS:
            try:
                if len(block) < BLOCK:
                    raise Malformed("nothing in it" if not block else looks_like(block))
                header = read_header(block)
            except Malformed as malformed:
                raise self._no_header(block, seen, malformed) from malformed
            seen += 1
            self._tally(header)
            yield header
        self._read_end()

    def _no_header(self, block: bytes, seen: int, malformed: Malformed) -> Refusal:
        if seen and len(block) < BLOCK:
            return refuse("truncated", "a tar without its end", "two blocks of zeros at its end", "Pack it again.")
        if seen or (len(block) == BLOCK and looks_like(block) == "a tar archive"):
            behind = self._names[-1] if self._names else ""
            where = f" behind {shown(behind)}" if behind else ""
            return refuse("header_malformed", f"{malformed}{where}", "headers as POSIX and GNU tar write them")
        found = looks_like(block) if block else str(malformed)
        return refuse(
            "not_a_tar", found, "a tar inside the compressed file", "Pack with tar -czf, not with gzip alone."
        )

    def _tally(self, header: Header) -> None:
        """Counts members, and global headers, which may come in any number; the others are one each for a member."""
        if header.kind not in (PAX, LONG_NAME, LONG_LINK):
            self._count += 1
        if self._count > self._limits.entries:
            expected = at_most(self._limits.entries, "entries", self._limits.entries_setting)
            raise refuse("too_many_entries", f"more than {self._limits.entries} entries", expected, "Leave files out.")

    def _entry(self, header: Header, raw_name: bytes, raw_target: bytes) -> Entry:
        name = self._name(header, raw_name)
        reason = broken_kind(header, name, links=self._links)
        if reason is not None:
            self._reasons.append(reason)
        # Whether data follows a link or an unknown member is read differently: nothing behind it is certain.
        uncertain = reason is not None and header.size and header.kind not in FILES
        if uncertain or len(self._reasons) >= MOST_REASONS:
            raise Refusal(self._reasons)
        self._check_sizes(name, header.size)
        mode = stat.S_IMODE(header.mode)
        if header.kind not in _LINKS:
            return Entry(name, header.size, mode, header.kind == FOLDER)
        target = self._target(raw_target, name)
        return Entry(name, 0, mode, is_dir=False, link=_LINKS[header.kind], target=target)

    def _target(self, raw_target: bytes, name: str) -> str:
        try:
            return raw_target.decode("utf-8")
        except UnicodeDecodeError:
            raise refuse("link_target", "a link to a path that is not UTF-8", "UTF-8", file=name) from None

    def _name(self, header: Header, raw_name: bytes) -> str:
        if raw_name in _ROOT and header.kind == FOLDER:
            return "./"
        raw_name = raw_name.removeprefix(b"./")
        if header.kind == FOLDER and raw_name and not raw_name.endswith(b"/"):
            raw_name += b"/"
        self._name_bytes += len(raw_name)
        if self._name_bytes > self._limits.directory_bytes:
            expected = at_most(self._limits.directory_bytes, "bytes")
            raise refuse("too_large_directory", f"names of {self._name_bytes} bytes", expected, "Use shorter names.")
        try:
            name = raw_name.decode("utf-8")
        except UnicodeDecodeError:
            name = raw_name.decode("latin-1")
            mend = "Rename it, or pack on a system whose names are UTF-8."
            self._reasons.append(Reason("name_encoding", "a name that is not UTF-8", "UTF-8", mend, shown(name)))
        else:
            self._names.append(name)
        return name

    def _check_sizes(self, name: str, size: int) -> None:
        """What the headers admit. They cannot say less than the truth: the next header lies where the data end."""
        limits = self._limits
        self._total += size
        if size > limits.file_bytes:
            expected = at_most(limits.file_bytes, "bytes", limits.file_setting)
            raise refuse("too_large_file", f"{amount_text(size)} unpacked", expected, "Leave it out.", name)
        if self._total > limits.unpacked_bytes:
            expected = at_most(limits.unpacked_bytes, "bytes", limits.unpacked_setting)
            raise refuse(
                "too_large_unpacked", f"{amount_text(self._total)} unpacked, or more", expected, "Leave files out."
            )
        if self._total > limits.ratio_from and self._total > limits.ratio * self._packed:
            found = f"{amount_text(self._total)} unpacked, or more, from {amount_text(self._packed)}"
            raise refuse("ratio", found, f"at most {limits.ratio} times the packed size", "Leave the padding out.")

    def _pieces(self, entry: Entry) -> Iterator[bytes]:
        left = entry.size
        while left:
            piece = self._data.some(min(STEP, left))
            if not piece:
                raise ends_inside(entry.name)
            left -= len(piece)
            yield piece
        self._data.exactly(-entry.size % BLOCK, entry.name)

    def _read_end(self) -> None:
        """After the first block of zeros: a second one, zeros to fill the last record, and nothing else."""
        second = self._data.up_to(BLOCK)
        if len(second) < BLOCK:
            raise refuse("truncated", "half of a tar's end", "two blocks of zeros at its end", "Pack it again.")
        padding = 0
        piece = second
        while piece:
            padding += len(piece)
            if piece.strip(b"\0"):
                raise refuse("trailing_bytes", "bytes behind the tar's end", "nothing behind it")
            if padding > _MOST_PADDING:
                raise refuse("trailing_bytes", f"more than {_MOST_PADDING} zeros at the tar's end", "a shorter end")
            piece = self._data.some(STEP)
