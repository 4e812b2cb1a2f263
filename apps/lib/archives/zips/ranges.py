"""One file of a stored zip, read by its range: `at`, `packed` and `method` are those of its Entry."""

import zlib
from collections.abc import Callable, Iterator

_DEFLATED = 8
_RAW_DEFLATE = -15


def first_bytes(read: Callable[[int, int], Iterator[bytes]], *, at: int, packed: int, method: int, most: int) -> bytes:
    """Its first `most` bytes; `read(start, stop)` reads those of the zip. Raises zlib.error, and what `read` raises."""
    if not packed:
        return b""
    # Of deflated bytes nobody knows beforehand how many are needed.
    steps = read(at, at + (packed if method == _DEFLATED else min(packed, most)))
    try:
        return b"".join(_inflated(steps, most) if method == _DEFLATED else steps)
    finally:
        getattr(steps, "close", bool)()  # half-way through a file it is still open


def _inflated(steps: Iterator[bytes], most: int) -> Iterator[bytes]:
    inflater, left = zlib.decompressobj(_RAW_DEFLATE), most
    for step in steps:
        piece = inflater.decompress(step, left)
        left -= len(piece)
        yield piece
        if left <= 0 or inflater.eof:  # a length of 0 would mean "without a limit"
            return
