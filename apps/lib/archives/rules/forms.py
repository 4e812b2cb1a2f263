"""Which form of archive a file is, by its first bytes: names lie, and browsers invent content types."""

from typing import Literal, get_args

from apps.lib.archives.rules.magic import looks_like
from apps.lib.archives.rules.outcome import Refusal, refuse

Form = Literal["zip", "tar.gz", "tar.xz"]
FORMS: tuple[Form, ...] = get_args(Form)

_STARTS: tuple[tuple[bytes, Form], ...] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),  # a zip without members
    (b"\x1f\x8b", "tar.gz"),
    (b"\xfd7zXZ\x00", "tar.xz"),
)
_AGAIN = "Pack the module's folder as .zip, .tar.gz or .tar.xz."
_MENDS = {
    "a tar archive": "Compress it: gzip module.tar makes module.tar.gz.",
    "a bzip2 file (.tar.bz2)": "Pack it with gzip or xz instead: tar -czf module.tar.gz -C module .",
    "a zstd file": "Pack it with gzip or xz instead: tar -czf module.tar.gz -C module .",
    "a file of 0 bytes": "Upload it again.",
}


def form_of(head: bytes) -> Form | None:
    """The form that a file's first bytes (512 say enough) belong to; None where it is none that Larder takes."""
    return next((form for start, form in _STARTS if head.startswith(start)), None)


def refuse_form(head: bytes) -> Refusal:
    """The refusal, to be raised, of a file that `form_of` does not know. It names what people usually try."""
    found = looks_like(head) if head else "a file of 0 bytes"
    code = "not_an_archive" if head else "empty"
    return refuse(code, found, "a zip, tar.gz or tar.xz archive", _MENDS.get(found, _AGAIN))
