"""What a member is, by the Unix mode in its attributes: files, folders and, where they are followed, links."""

import stat
from collections.abc import Iterable, Iterator

from apps.lib.archives.rules.outcome import shown
from apps.lib.archives.zips.records import Record
from apps.lib.errors import Reason

_OTHERS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
_DOS_FOLDER = 0x10
# By other systems the upper half means something else, or nothing: one reader sees a link, the next one a file.
_UNIX_LIKE = (3, 19)


def mode_of(record: Record) -> int:
    """The Unix mode with its type bits; 0 where the packer wrote none."""
    return record.attributes >> 16


def is_link(record: Record) -> bool:
    return stat.S_ISLNK(mode_of(record))


def broken_kinds(records: Iterable[Record], *, links: bool) -> Iterator[Reason]:
    """A reason for each member of a kind that is not allowed, or that contradicts its own name."""
    for record in records:
        found = _wrong_link(record) if links and is_link(record) else _contradiction(record)
        if found:
            expected = "regular files, folders and symbolic links" if links else "regular files and folders only"
            yield Reason("file_type", found, expected, "Leave it out, or pack the file itself.", shown(record.name))


def _wrong_link(record: Record) -> str:
    if record.made_by >> 8 not in _UNIX_LIKE:
        return "a symbolic link that was not packed on Unix"
    if record.is_dir or record.attributes & _DOS_FOLDER:
        return "a symbolic link that is a folder as well"
    return ""


def _contradiction(record: Record) -> str:
    mode = mode_of(record)
    kind = stat.S_IFMT(mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return _OTHERS.get(kind, f"a member of the unknown type {kind:#o}")
    # The low byte means DOS attributes to every reader, whoever wrote it.
    if not record.is_dir and (kind == stat.S_IFDIR or record.attributes & _DOS_FOLDER):
        return "a folder whose name does not end in '/'"
    if record.is_dir and (kind == stat.S_IFREG or record.size):
        return "a file whose name ends in '/'"
    # Folders may carry setgid: a shared work tree has it, and it grants nobody anything.
    if not record.is_dir and mode & (stat.S_ISUID | stat.S_ISGID):
        return "a setuid or setgid file"
    return ""
