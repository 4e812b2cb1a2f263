"""What a file that is no zip looks like, so that a refusal can say it."""

_STARTS = (
    (b"\x1f\x8b", "a gzip file (.tar.gz, .tgz)"),
    (b"\xfd7zXZ\x00", "an xz file (.tar.xz)"),
    (b"BZh", "a bzip2 file (.tar.bz2)"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "a Linux executable"),
    (b"MZ", "a Windows executable"),
)
_TAR_AT, _TAR = 257, b"ustar"
HEAD_BYTES = 512


def looks_like(head: bytes) -> str:
    """Names the kind of file by its first 512 bytes; "something else" where nothing is known."""
    for start, name in _STARTS:
        if head.startswith(start):
            return name
    if head[_TAR_AT:].startswith(_TAR):
        return "a tar archive"
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return "an HTML page (perhaps the error page of a download)"
    if text.startswith((b"{", b"[")):
        return "a JSON document"
    return "something else" if head.strip(b"\0") else "nothing but zero bytes"
