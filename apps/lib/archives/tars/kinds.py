"""What a member of a tar is: files, folders and, where they are followed, links."""

import stat

from apps.lib.archives.rules.outcome import shown
from apps.lib.archives.tars.headers import FILES, FOLDER, HARD_LINK, SYMBOLIC_LINK, Header
from apps.lib.errors import Reason

_OTHERS = {
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
_SPARSE = b"S"
_MEND = "Leave it out, or pack the file itself."
_LINKS = {HARD_LINK: stat.S_IFREG, SYMBOLIC_LINK: stat.S_IFLNK}


def broken_kind(header: Header, name: str, *, links: bool) -> Reason | None:
    """The reason against a member of a kind that is not allowed, or that contradicts its own name."""
    if header.kind == _SPARSE:
        return sparse_reason(name)
    found = _wrong_link(header, name) if links and header.kind in _LINKS else _contradiction(header, name)
    expected = "regular files, folders and links" if links else "regular files and folders only"
    return Reason("file_type", found, expected, _MEND, shown(name)) if found else None


def sparse_reason(name: str) -> Reason:
    return Reason("sparse", "a file with holes", "whole files", "Pack it without --sparse (-S).", shown(name))


def _wrong_link(header: Header, name: str) -> str:
    what = _OTHERS[header.kind]
    # Some readers skip the data of a link, others take what follows it for the next header.
    if header.size:
        return f"{what} with data"
    if name.endswith("/"):
        return f"{what} whose name ends in '/'"
    if stat.S_IFMT(header.mode) not in (0, _LINKS[header.kind]):
        return f"{what} with the mode {header.mode:#o}, which is that of another kind"
    return ""


def _contradiction(header: Header, name: str) -> str:
    if header.kind not in (*FILES, FOLDER):
        return _OTHERS.get(header.kind, f"a member of the unknown type {header.kind.decode('latin-1')!r}")
    is_dir = header.kind == FOLDER
    if stat.S_IFMT(header.mode) not in (0, stat.S_IFDIR if is_dir else stat.S_IFREG):
        return f"the mode {header.mode:#o}, which is that of another kind"
    if is_dir and header.size:
        return "a folder with data"
    if not is_dir and name.endswith("/"):
        return "a file whose name ends in '/'"
    # Folders may carry setgid: a shared work tree has it, and it grants nobody anything.
    if not is_dir and header.mode & (stat.S_ISUID | stat.S_ISGID):
        return "a setuid or setgid file"
    return ""
