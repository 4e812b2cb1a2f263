"""Reads a whole compressed tar by the rules, from front to back (D17).

`tarfile` is not used: it takes a damaged header for the end of the archive, lets the last of several headers about one
member win, takes numbers with signs, strips what a folder's name ends in, and unfolds holes. A subclass is
no place for a guard: newer sources of tarfile read the header behind an extended one by a private method.
"""

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, Literal

from apps.lib.archives.inflating import STEP
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Clock, Limits, at_most
from apps.lib.archives.rules.magic import looks_like
from apps.lib.archives.rules.names import broken_names
from apps.lib.archives.rules.outcome import MAX_REASONS, Entry, LinkKind, Refusal, refuse, shown
from apps.lib.archives.tar_headers import (
    BLOCK,
    FILES,
    FOLDER,
    HARD_LINK,
    HEADER_NAME_BYTES,
    LONG_LINK,
    LONG_NAME,
    PAX,
    PAX_GLOBAL,
    SPARSE,
    SYMBOLIC_LINK,
    ZEROS,
    Header,
    Malformed,
    read_header,
    read_records,
)
from apps.lib.archives.tar_streams import Unpacked, ends_inside, unpacked
from apps.lib.errors import Reason

_MAX_PADDING_BYTES = 1024 * 1024  # tar fills its last record; the longest that GNU tar is told to write in practice
# macOS packs what belongs to a file into headers about it; names and times take some hundred bytes.
_MAX_ABOUT_BYTES = 1024 * 1024
_MAX_ABOUT_ALL_BYTES = 64 * 1024 * 1024
_PER_MEMBER = (b"path", b"size", b"linkpath")
_ROOT = (b".", b"./")
_LINKS: dict[bytes, LinkKind] = {HARD_LINK: "hard", SYMBOLIC_LINK: "symbolic"}
_LINK_TYPES = {HARD_LINK: stat.S_IFREG, SYMBOLIC_LINK: stat.S_IFLNK}
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a named pipe",
    b"7": "a contiguous file",
    b"D": "a folder of an incremental dump",
    b"M": "the rest of a file from another volume",
    b"V": "a volume label",
}


def tar_members(
    file: BinaryIO, form: Literal["tar.gz", "tar.xz"], limits: Limits, clock: Clock, *, links: bool = False
) -> Iterator[Member]:
    """The members of a compressed tar in its own order, their names without a leading `./`.

    What only the whole tells (names that clash, bytes after the end) is refused after the last member. Links are
    refused, unless the caller follows them (`links`).
    """
    packed = file.seek(0, os.SEEK_END)
    return _Reader(unpacked(file, form, clock), packed, limits, links=links).members()


class _Reader:
    def __init__(self, data: Unpacked, packed: int, limits: Limits, *, links: bool) -> None:
        self._data = data
        self._packed = packed
        self._limits = limits
        self._links = links
        self._names: list[str] = []
        self._reasons: list[Reason] = []  # against kinds of members and spellings; names are judged together
        self._about: dict[bytes, bytes] = {}  # headers about the next member: kind -> data
        self._about_bytes = 0
        self._count = 0
        self._name_bytes = 0
        self._total = 0

    def members(self) -> Iterator[Member]:
        for header in self._headers():
            if header.kind in (PAX, PAX_GLOBAL, LONG_NAME, LONG_LINK):
                self._read_about(header)
                continue
            raw_name, raw_target = self._names_of(header)
            entry = self._entry(header, raw_name, raw_target)
            pieces = self._pieces(entry)
            if not self._reasons and raw_name not in _ROOT:
                yield entry, pieces
            for _ in pieces:
                pass  # what nobody wanted to read
        if self._about:
            raise _out_of_order("a header for a member that is missing", "")
        if reasons := [*broken_names(self._names, self._limits, twins=self._links), *self._reasons]:
            raise Refusal(reasons[:MAX_REASONS])

    def _headers(self) -> Iterator[Header]:
        """Header after header, then the end. The caller must read each member's data before the next header."""
        seen = 0
        while (block := self._data.up_to(BLOCK)) != ZEROS:
            try:
                if len(block) < BLOCK:
                    raise Malformed("nothing in it" if not block else looks_like(block))
                header = read_header(block)
            except Malformed as malformed:
                raise self._no_header(block, seen, str(malformed)) from malformed
            seen += 1
            # Global headers may come in any number; the others are one each for a member.
            self._count += header.kind not in (PAX, LONG_NAME, LONG_LINK)
            self._limits.check_entries(self._count)
            yield header
        # After the first block of zeros: a second one, zeros to fill the last record, and nothing else.
        piece = self._data.up_to(BLOCK)
        if len(piece) < BLOCK:
            raise refuse("truncated", "half of a tar's end", "two blocks of zeros at its end")
        padding = 0
        while piece:
            padding += len(piece)
            if piece.strip(b"\0"):
                raise refuse("trailing_bytes", "bytes after the tar's end", "nothing after it")
            if padding > _MAX_PADDING_BYTES:
                raise refuse(
                    "trailing_bytes", f"more than {_MAX_PADDING_BYTES} zeros at the tar's end", "a shorter end"
                )
            piece = self._data.some(STEP)

    def _no_header(self, block: bytes, seen: int, found: str) -> Refusal:
        if seen and len(block) < BLOCK:
            return refuse("truncated", "a tar without an end", "two blocks of zeros at its end")
        if seen or (len(block) == BLOCK and looks_like(block) == "a tar archive"):
            where = f" after {shown(self._names[-1])}" if self._names and self._names[-1] else ""
            return refuse("header_malformed", f"{found}{where}", "headers as POSIX and GNU tar write them")
        hint = "Pack with tar -czf, not with gzip alone."
        return refuse("not_a_tar", looks_like(block) if block else found, "a tar inside the compressed file", hint)

    def _read_about(self, header: Header) -> None:
        """Reads a header about the next member. A member may have one of each kind."""
        file = _shown(header.name)
        if header.kind in self._about or (header.kind == PAX_GLOBAL and self._about):
            raise _out_of_order("two headers about one member", file)
        most = self._limits.name_bytes + 1 if header.kind in (LONG_NAME, LONG_LINK) else _MAX_ABOUT_BYTES
        self._about_bytes += header.size
        if header.size > most or self._about_bytes > _MAX_ABOUT_ALL_BYTES:
            found = f"{header.size} bytes about a member, {self._about_bytes} about all so far"
            raise refuse("header_too_large", found, at_most(min(most, _MAX_ABOUT_ALL_BYTES), "bytes"), file=file)
        data = self._data.exactly(header.size, file)
        self._data.exactly(-header.size % BLOCK, file)
        if header.kind != PAX_GLOBAL:
            self._about[header.kind] = data
            return
        # `git archive` writes the commit id there. What names or measures a single member must not hold for all.
        for key in read_records(data, file):
            if key in _PER_MEMBER or _is_sparse(key):
                found = f"the record {key[:40]!r} for all members"
                raise refuse("pax_global", found, "comments, times and owners only", file=file)

    def _names_of(self, header: Header) -> tuple[bytes, bytes]:
        """The name and the target (empty unless it is a link) of a member. Its headers must agree about them."""
        about, self._about = self._about, {}
        file = _shown(header.name)
        records = read_records(about.get(PAX, b""), file)
        name = _agreed(header.name, records.get(b"path"), about.get(LONG_NAME), file)
        if any(map(_is_sparse, records)):
            raise Refusal([_sparse(_shown(name))])
        size = records.get(b"size")
        if size is not None and size != str(header.size).encode("ascii"):
            found = f"the size {size[:40].decode('latin-1')} in its extended header and {header.size} in its own"
            raise refuse("pax_size", found, "one size", file=_shown(name))
        if header.kind in _LINKS:
            return name, _agreed(header.link, records.get(b"linkpath"), about.get(LONG_LINK), _shown(name))
        if LONG_LINK in about:
            raise _out_of_order("the target of a link before a member that is not a link", _shown(name))
        return name, b""

    def _entry(self, header: Header, raw_name: bytes, raw_target: bytes) -> Entry:
        name = self._name(header, raw_name)
        # The member may be of a kind that is not allowed, or that contradicts its own name.
        reason: Reason | None = None
        fault_of = _wrong_link if self._links and header.kind in _LINKS else _wrong_kind
        if header.kind == SPARSE:
            reason = _sparse(name)
        elif found := fault_of(header, name):
            expected = "regular files, folders and links" if self._links else "regular files and folders only"
            reason = Reason("file_type", found, expected, "Leave it out, or pack the file itself.", shown(name))
        if reason is not None:
            self._reasons.append(reason)
        # Whether data follow a link or an unknown member is read differently: nothing after it is certain.
        uncertain = reason is not None and header.size and header.kind not in FILES
        if uncertain or len(self._reasons) >= MAX_REASONS:
            raise Refusal(self._reasons)
        self._limits.check_file(name, header.size)
        # Headers cannot say less than the truth: the next one lies where the data end.
        self._total += header.size
        self._limits.check_unpacked(self._total)
        self._limits.check_ratio(self._total, self._packed)
        mode = stat.S_IMODE(header.mode)
        if header.kind not in _LINKS:
            return Entry(name, header.size, mode, header.kind == FOLDER)
        try:
            target = raw_target.decode("utf-8")
        except UnicodeDecodeError:
            raise refuse("link_target", "a link to a path that is not UTF-8", "UTF-8", file=name) from None
        return Entry(name, 0, mode, is_dir=False, link=_LINKS[header.kind], target=target)

    def _name(self, header: Header, raw_name: bytes) -> str:
        if raw_name in _ROOT and header.kind == FOLDER:
            return "./"
        raw_name = raw_name.removeprefix(b"./")
        if header.kind == FOLDER and raw_name and not raw_name.endswith(b"/"):
            raw_name += b"/"
        self._name_bytes += len(raw_name)
        self._limits.check_directory(self._name_bytes, "names")
        try:
            name = raw_name.decode("utf-8")
        except UnicodeDecodeError:
            name = raw_name.decode("latin-1")
            hint = "Rename it, or pack on a system whose names are UTF-8."
            self._reasons.append(Reason("name_encoding", "a name that is not UTF-8", "UTF-8", hint, shown(name)))
        else:
            self._names.append(name)
        return name

    def _pieces(self, entry: Entry) -> Iterator[bytes]:
        left = entry.size
        while left:
            piece = self._data.some(min(STEP, left))
            if not piece:
                raise ends_inside(entry.name)
            left -= len(piece)
            yield piece
        self._data.exactly(-entry.size % BLOCK, entry.name)


def _agreed(short: bytes, path: bytes | None, long_name: bytes | None, file: str) -> bytes:
    """The name (or target) that all headers agree on: the member's own, an extended one's, a long one of GNU's."""
    if path is not None and long_name is not None:
        raise _out_of_order("two long names for one member", file)
    if path is not None:
        # It is there for names that do not fit; one that would fit is another name.
        fits = path.isascii() and len(path) <= HEADER_NAME_BYTES
        if fits and path.rstrip(b"/") != short.rstrip(b"/"):
            raise _renamed(path, short)
        return path
    if long_name is None:
        return short
    name = long_name.removesuffix(b"\0")
    if not name.startswith(short):
        raise _renamed(name, short)
    return name


def _renamed(name: bytes, short: bytes) -> Refusal:
    found = f"a header that renames it from {_shown(short)[:80]!r}"
    return refuse("renamed", found, "one name", file=_shown(name))


def _out_of_order(found: str, file: str) -> Refusal:
    return refuse("header_order", found, "each header before its member", file=file)


def _is_sparse(key: bytes) -> bool:
    """Return whether a record says that the member has holes: GNU's three formats, and star's."""
    return key.startswith(b"GNU.sparse.") or key == b"SCHILY.realsize"


def _sparse(name: str) -> Reason:
    return Reason("sparse", "a file with holes", "whole files", "Pack it without --sparse (-S).", shown(name))


def _wrong_link(header: Header, name: str) -> str:
    kind = _KINDS[header.kind]
    # Some readers skip the data of a link, others take what follows it for the next header.
    if header.size:
        return f"{kind} with data"
    if name.endswith("/"):
        return f"{kind} whose name ends in '/'"
    return _wrong_mode(header, _LINK_TYPES[header.kind])


def _wrong_kind(header: Header, name: str) -> str:
    if header.kind not in (*FILES, FOLDER):
        return _KINDS.get(header.kind, f"a member of the unknown type {header.kind.decode('latin-1')!r}")
    if header.kind == FOLDER:
        return _wrong_mode(header, stat.S_IFDIR) or ("a folder with data" if header.size else "")
    if name.endswith("/"):
        return "a file whose name ends in '/'"
    # Folders may carry setgid: a shared work tree has it, and it grants nobody anything.
    special = header.mode & (stat.S_ISUID | stat.S_ISGID)
    return _wrong_mode(header, stat.S_IFREG) or ("a setuid or setgid file" if special else "")


def _wrong_mode(header: Header, kind: int) -> str:
    is_right = stat.S_IFMT(header.mode) in (0, kind)
    return "" if is_right else f"the mode {header.mode:#o}, which belongs to another kind"


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")
