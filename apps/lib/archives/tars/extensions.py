"""Headers about the next header: extended ones (pax) and long names (GNU). One of each, and never two that differ."""

from apps.lib.archives.rules.limits import Limits, at_most
from apps.lib.archives.rules.outcome import Refusal, refuse
from apps.lib.archives.tars import pax
from apps.lib.archives.tars.headers import (
    BLOCK,
    HARD_LINK,
    HEADER_NAME_BYTES,
    LONG_LINK,
    LONG_NAME,
    PAX,
    PAX_GLOBAL,
    SYMBOLIC_LINK,
    Header,
)
from apps.lib.archives.tars.kinds import sparse_reason
from apps.lib.archives.tars.streams import Unpacked

_MOST_RECORDS = 1024 * 1024  # macOS packs what belongs to a file into records; names and times take some hundred bytes
_MOST_IN_ALL = 64 * 1024 * 1024


class Extensions:
    """Collects what stands in front of a member, and is asked for its name and target when it comes."""

    def __init__(self, data: Unpacked, limits: Limits) -> None:
        self._data = data
        self._limits = limits
        self._open: dict[bytes, bytes] = {}  # kind of header -> its data
        self._size = 0

    def take(self, header: Header) -> bool:
        """Reads the data of such a header; False for a member, of which nothing is read."""
        if header.kind not in (PAX, PAX_GLOBAL, LONG_NAME, LONG_LINK):
            return False
        file = _shown(header.name)
        if header.kind in self._open or (header.kind == PAX_GLOBAL and self._open):
            raise _out_of_order("two headers about one member", file)
        most = self._limits.name_bytes + 1 if header.kind in (LONG_NAME, LONG_LINK) else _MOST_RECORDS
        self._size += header.size
        if header.size > most or self._size > _MOST_IN_ALL:
            found = f"{header.size} bytes about a member, {self._size} about all so far"
            raise refuse("header_too_large", found, at_most(min(most, _MOST_IN_ALL), "bytes"), file=file)
        data = self._data.exactly(header.size, file)
        self._data.exactly(-header.size % BLOCK, file)
        if header.kind == PAX_GLOBAL:
            pax.check_global(pax.read_records(data, file), file)
        else:
            self._open[header.kind] = data
        return True

    def names_of(self, header: Header) -> tuple[bytes, bytes]:
        """The name and the target (empty unless it is a link) of the member behind what was taken.

        Raises Refusal where the headers disagree about them.
        """
        taken, self._open = self._open, {}
        file = _shown(header.name)
        records = pax.read_records(taken.get(PAX, b""), file)
        name = _the_one(header.name, records.get(b"path"), taken.get(LONG_NAME), file)
        if any(map(pax.is_sparse, records)):
            raise Refusal([sparse_reason(_shown(name))])
        pax.check_size(records, header.size, _shown(name))
        if header.kind in (HARD_LINK, SYMBOLIC_LINK):
            return name, _the_one(header.link, records.get(b"linkpath"), taken.get(LONG_LINK), _shown(name))
        if LONG_LINK in taken:
            raise _out_of_order("the target of a link before a member that is none", _shown(name))
        return name, b""

    def check_none_open(self) -> None:
        """Called at the end of the archive."""
        if self._open:
            raise _out_of_order("a header about a member, and no member", "")


def _the_one(short: bytes, path: bytes | None, long_name: bytes | None, file: str) -> bytes:
    """The name (or target) that all headers agree on: the member's own, an extended one's, a long one of GNU's."""
    if path is not None and long_name is not None:
        raise _out_of_order("two long names for one member", file)
    if path is not None:
        return _checked_path(path, short)
    return short if long_name is None else _checked_long_name(long_name, short)


def _checked_path(path: bytes, short: bytes) -> bytes:
    """The name in an extended header. It is there for names that do not fit; one that would fit is another name."""
    if path.isascii() and len(path) <= HEADER_NAME_BYTES and path.rstrip(b"/") != short.rstrip(b"/"):
        raise _renamed(path, short)
    return path


def _checked_long_name(data: bytes, short: bytes) -> bytes:
    name = data.removesuffix(b"\0")
    if not name.startswith(short):
        raise _renamed(name, short)
    return name


def _renamed(name: bytes, short: bytes) -> Refusal:
    found = f"a header that renames it from {_shown(short)[:80]!r}"
    return refuse("renamed", found, "one name", file=_shown(name))


def _out_of_order(found: str, file: str) -> Refusal:
    return refuse("header_order", found, "each header before its member", file=file)


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")
