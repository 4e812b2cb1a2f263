"""One file of a stored zip, read by its range: what a check has noted of it (`at`, `packed`, `method`) is enough."""

import zlib
from collections.abc import Callable, Iterator

_DEFLATED = 8
_RAW_DEFLATE = -15


def first_bytes(read: Callable[[int, int], Iterator[bytes]], *, at: int, packed: int, method: int, most: int) -> bytes:
    """Its first `most` bytes; `read(start, stop)` gives those of the zip. Raises zlib.error, or what that does."""
    if not packed:
        return b""
    # Stored bytes need not be read further than they are wanted; what is deflated tells only while it is inflated.
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
