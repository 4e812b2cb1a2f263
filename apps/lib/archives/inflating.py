"""Inflates in steps, so that a bomb fills no memory. What follows the end of a stream is for the caller to see."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

STEP = 64 * 1024
RAW, GZIP = -zlib.MAX_WBITS, 16 + zlib.MAX_WBITS
_DEFLATED = 8


def inflated(packed: Iterable[bytes], inflater: "zlib._Decompress") -> Iterator[bytes]:
    """The contents up to the end of the stream. Raises zlib.error."""
    for unread in packed:
        while piece := inflater.decompress(unread, STEP):
            yield piece
            unread = inflater.unconsumed_tail  # noqa: PLW2901 - the rest of it
        if inflater.eof:
            return


def first_bytes(read: Callable[..., Iterator[bytes]], *, at: int, packed: int, method: int, most: int) -> bytes:
    """The first `most` bytes of a file in a stored zip, read by its range: `at`, `packed`, `method` are its Entry's.

    `read(start=…, stop=…)` reads those of the zip. Raises zlib.error, and what `read` raises.
    """
    if not packed:
        return b""
    # Of deflated bytes nobody knows beforehand how many are needed.
    steps = read(start=at, stop=at + (packed if method == _DEFLATED else min(packed, most)))
    data = bytearray()
    try:
        for piece in inflated(steps, zlib.decompressobj(RAW)) if method == _DEFLATED else steps:
            data += piece
            if len(data) >= most:
                break
    finally:
        getattr(steps, "close", bool)()  # half-way through a file it is still open
    return bytes(data[:most])


def parts_of(file: BinaryIO, *, start: int, stop: int) -> Iterator[bytes]:
    """Bytes of a zip that is a file here, for `first_bytes`."""
    file.seek(start)
    left = stop - start
    while left > 0 and (piece := file.read(min(STEP, left))):
        left -= len(piece)
        yield piece
