"""The bytes inside a gzip or xz file: one whole stream, unpacked in steps, with nothing after it.

zlib and lzma unpack; `gzip` and `lzma.open` read on in a second stream, where other tools stop.
"""

import lzma
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Literal

from apps.lib.archives.inflating import GZIP, STEP, inflated
from apps.lib.archives.rules.limits import Clock
from apps.lib.archives.rules.outcome import Refusal, refuse

_MAX_XZ_MEMORY_BYTES = 100 * 1024 * 1024  # `xz -9` needs 65 MiB to unpack. A header may ask for 4 GiB.
_MAGIC = {"gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00"}


class Unpacked:
    """The contents of a compressed file, read from front to back."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._piece = b""
        self._at = 0

    def some(self, most: int) -> bytes:
        """At least one byte and at most as many as asked for; none at the end."""
        while self._at == len(self._piece):
            following = next(self._pieces, None)
            if following is None:
                return b""
            self._piece, self._at = following, 0
        data = self._piece[self._at : self._at + most]
        self._at += len(data)
        return data

    def up_to(self, count: int) -> bytes:
        """So many bytes; fewer at the end."""
        data = self.some(count)
        while len(data) < count and (more := self.some(count - len(data))):
            data += more
        return data

    def exactly(self, count: int, file: str) -> bytes:
        """So many bytes of the member `file`. Raises Refusal at the end."""
        data = self.up_to(count)
        if len(data) < count:
            raise ends_inside(file)
        return data


def unpacked(file: BinaryIO, form: Literal["tar.gz", "tar.xz"], clock: Clock) -> Unpacked:
    """The contents of the file, which is read from its start."""
    file.seek(0)
    return Unpacked(_gunzipped(file, clock) if form == "tar.gz" else _unxzed(file, clock))


def ends_inside(file: str) -> Refusal:
    return refuse(
        "truncated", "the end of the tar inside a member", "the complete file", "Pack and upload it again.", file
    )


def _gunzipped(file: BinaryIO, clock: Clock) -> Iterator[bytes]:
    """One gzip member. zlib checks header, CRC and length (RFC 1952)."""
    inflater = zlib.decompressobj(GZIP)
    try:
        yield from inflated(_packed(file, "gzip", clock), inflater)
    except zlib.error as error:
        raise _damaged("gzip", error) from error
    _check_end("gzip", inflater.unused_data + file.read(STEP))


def _unxzed(file: BinaryIO, clock: Clock) -> Iterator[bytes]:
    """One xz stream."""
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_XZ_MEMORY_BYTES)
    packed = _packed(file, "xz", clock)
    try:
        while not decoder.eof:
            yield decoder.decompress(next(packed) if decoder.needs_input else b"", STEP)
    except lzma.LZMAError as error:
        if "memory" not in str(error).lower():
            raise _damaged("xz", error) from error
        found = f"an xz stream that takes more than {_MAX_XZ_MEMORY_BYTES} bytes of memory to unpack"
        raise refuse("xz_memory", found, "at most the memory of xz -9", "Pack it with xz -6.") from error
    _check_end("xz", decoder.unused_data + file.read(STEP))


def _packed(file: BinaryIO, kind: str, clock: Clock) -> Iterator[bytes]:
    while packed := file.read(STEP):
        clock.check()
        yield packed
    raise refuse("truncated", f"a {kind} stream that is cut short", "the complete file", "Upload it again.")


def _damaged(kind: str, error: Exception) -> Refusal:
    return refuse("damaged", f"broken {kind} data ({error})", f"a whole {kind} stream", "Pack and upload it again.")


def _check_end(kind: str, rest: bytes) -> None:
    """Some tools read on in a second stream, others stop or ignore it: two archives in one file."""
    if rest.startswith(_MAGIC[kind]):
        hint = f"Pack all files in one go; do not join {kind} files."
        raise refuse("concatenated", f"a second {kind} stream after the first", "one stream", hint)
    if rest:
        raise refuse("trailing_bytes", f"bytes after the end of the {kind} stream", "nothing after it")
