"""The child process that reads an archive: it starts with almost nothing and gives the rest away before it looks.

Started by `apps.lib.archives` as `python -I -S -c … <root> <request>`, the archive as its standard input.
"""

import io
import json
import os
import sys
from typing import TYPE_CHECKING, BinaryIO

from apps.lib.zips.confinement import confine, die_with_parent
from apps.lib.zips.exchange import OUT_OF_MEMORY, broken_document, listing_document, refusal_document
from apps.lib.zips.limits import Limits
from apps.lib.zips.outcome import Refusal
from apps.lib.zips.reader import read_zip

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 64 * 1024


class PositionedReader(io.RawIOBase):
    """Reads a descriptor without moving its position, which it shares with the process that opened it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError("seek before the start")
        self._at = start + offset
        return self._at

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        count = os.preadv(self._descriptor, [buffer], self._at) if hasattr(os, "preadv") else self._copy(buffer)
        self._at += count
        return count

    def _copy(self, buffer: "WriteableBuffer") -> int:
        view = memoryview(buffer)
        data = os.pread(self._descriptor, len(view), self._at)
        view[: len(data)] = data
        return len(data)


def main(request: str) -> None:
    """Checks the archive on descriptor 0 and writes one document to descriptor 1."""
    fields = json.loads(request)
    die_with_parent(fields["parent"])
    limits = Limits(**fields["limits"])
    file = io.BufferedReader(PositionedReader(0), _BUFFER)
    try:
        confine(limits)
        _write(_verdict(file, limits, fields["wanted"]))
    except MemoryError:
        # No document: what filled the memory is still held by the traceback, so there is no room to write one.
        os._exit(OUT_OF_MEMORY)
    # Nothing is left to flush, and tearing an interpreter down costs milliseconds.
    os._exit(0)


def _verdict(file: BinaryIO, limits: Limits, wanted: list[str]) -> bytes:
    try:
        return listing_document(read_zip(file, limits, wanted))
    except Refusal as refusal:
        return refusal_document(refusal)
    except OSError as error:
        return broken_document(error)


def _write(document: bytes) -> None:
    view = memoryview(document)
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    main(sys.argv[1])
