"""The members' bytes: each is read once, in steps, counted for real."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from apps.lib.amounts import amount_text
from apps.lib.archives.rules.clock import Clock
from apps.lib.archives.rules.limits import Limits, at_most
from apps.lib.archives.rules.outcome import refuse
from apps.lib.archives.zips.records import DEFLATED, Record

STEP = 64 * 1024
_RAW_DEFLATE = -15


def check_declared(records: list[Record], packed: int, limits: Limits) -> None:
    """Adds up what the directory admits. A directory that says less than the truth is caught while reading."""
    total = sum(record.size for record in records)
    for record in records:
        if record.size > limits.file_bytes:
            expected = at_most(limits.file_bytes, "bytes", limits.file_setting)
            raise refuse(
                "too_large_file", f"{amount_text(record.size)} unpacked", expected, "Leave it out.", record.name
            )
    if total > limits.unpacked_bytes:
        expected = at_most(limits.unpacked_bytes, "bytes", limits.unpacked_setting)
        raise refuse("too_large_unpacked", f"{amount_text(total)} unpacked", expected, "Leave files out.")
    if total > limits.ratio_from and total > limits.ratio * packed:
        found = f"{amount_text(total)} unpacked from {amount_text(packed)}"
        raise refuse("ratio", found, f"at most {limits.ratio} times the packed size", "Leave the padding out.")


def member_pieces(file: BinaryIO, record: Record, at: int, clock: Clock) -> Iterator[bytes]:
    """Reads one member whose data begins at `at`. Raises Refusal, at the latest after the last piece."""
    file.seek(at)
    size, crc = 0, 0
    for piece in _inflated(file, record, clock) if record.method == DEFLATED else _stored(file, record, clock):
        size += len(piece)
        # Stop at the first byte too many: how many more would come is what a bomb hides.
        if size > record.size:
            raise refuse("size_mismatch", f"more than its {record.size} bytes", "its declared size", file=record.name)
        crc = zlib.crc32(piece, crc)
        yield piece
    if size != record.size:
        raise refuse("size_mismatch", f"{size} bytes", f"its declared size of {record.size} bytes", file=record.name)
    if crc != record.crc:
        raise refuse("crc_mismatch", f"CRC {crc:08x}", f"{record.crc:08x}; its bytes are damaged", file=record.name)


def _stored(file: BinaryIO, record: Record, clock: Clock) -> Iterator[bytes]:
    left = record.packed
    while left:
        clock.check()
        piece = file.read(min(STEP, left))
        left -= len(piece)
        if not piece:
            raise refuse("truncated", "the end of the file inside a member", "all of it", file=record.name)
        yield piece


def _inflated(file: BinaryIO, record: Record, clock: Clock) -> Iterator[bytes]:
    inflater = zlib.decompressobj(_RAW_DEFLATE)
    after_end = False
    try:
        for packed in _stored(file, record, clock):
            after_end = inflater.eof
            if after_end:
                break
            pending = packed
            while pending and not inflater.eof:
                clock.check()
                yield inflater.decompress(pending, STEP)
                pending = inflater.unconsumed_tail
        while not inflater.eof and (piece := inflater.decompress(b"", STEP)):
            yield piece
    except zlib.error as error:
        raise refuse("deflate", f"broken compressed data ({error})", "a deflate stream", file=record.name) from error
    # A stream that ends early leaves room for bytes which only some tools would read.
    if after_end or inflater.unused_data or not inflater.eof:
        found = "compressed data that goes on" if inflater.eof else "compressed data that is cut short"
        raise refuse("deflate", found, "one whole deflate stream", file=record.name)
