"""What a member of a tar is: files and folders, nothing that acts when it is unpacked."""

import stat

from apps.lib.archive_rules.outcome import shown
from apps.lib.errors import Reason
from apps.lib.tars.headers import FILES, FOLDER, Header

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
_MEND = "Leave it out, or pack the file itself (tar -h follows symbolic links)."


def broken_kind(header: Header, name: str) -> Reason | None:
    """The reason against a member that is neither a regular file nor a folder, or contradicts its own name."""
    if header.kind == _SPARSE:
        return sparse_reason(name)
    found = _contradiction(header, name)
    return Reason("file_type", found, "regular files and folders only", _MEND, shown(name)) if found else None


def sparse_reason(name: str) -> Reason:
    return Reason("sparse", "a file with holes", "whole files", "Pack it without --sparse (-S).", shown(name))


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
