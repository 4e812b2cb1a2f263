"""Kinds of files by their first bytes: names lie, and browsers invent content types."""

from typing import Literal, get_args

from apps.lib.archives.rules.outcome import Refusal, refuse

Form = Literal["zip", "tar.gz", "tar.xz"]
FORMS: tuple[Form, ...] = get_args(Form)
HEAD_BYTES = 512

_FORMS: tuple[tuple[bytes, Form], ...] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),  # a zip without members
    (b"\x1f\x8b", "tar.gz"),
    (b"\xfd7zXZ\x00", "tar.xz"),
)
_KINDS = (
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
_HINT = "Pack the module's folder as .zip, .tar.gz or .tar.xz."
_HINTS = {
    "a tar archive": "Compress it: gzip module.tar makes module.tar.gz.",
    "a bzip2 file (.tar.bz2)": "Pack it with gzip or xz instead: tar -czf module.tar.gz -C module .",
    "a zstd file": "Pack it with gzip or xz instead: tar -czf module.tar.gz -C module .",
    "a file of 0 bytes": "Upload it again.",
}


def form_of(head: bytes) -> Form | None:
    """The form of an archive whose first HEAD_BYTES are given; None unless Larder accepts it."""
    return next((form for start, form in _FORMS if head.startswith(start)), None)


def refuse_form(head: bytes) -> Refusal:
    """The refusal, to be raised, of a file that has no form. It names the kind of file and the way out."""
    found = looks_like(head) if head else "a file of 0 bytes"
    code = "not_an_archive" if head else "empty"
    return refuse(code, found, "a zip, tar.gz or tar.xz archive", _HINTS.get(found, _HINT))


def looks_like(head: bytes) -> str:
    """Names the kind of a file that is no zip, by its first HEAD_BYTES; "something else" for an unknown one."""
    for start, name in _KINDS:
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
