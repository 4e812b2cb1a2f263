"""One member of a zip and its data, inflated with zlib: what zipfile would hide of a stream's end is seen here."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from apps.lib.archives.inflating import RAW, STEP, inflated
from apps.lib.archives.rules.limits import Clock
from apps.lib.archives.rules.outcome import refuse

STORED, DEFLATED = 0, 8


class Record(NamedTuple):
    """One member as the directory describes it (4.3.12), its name decoded. `at` is where its local record begins."""

    made_by: int
    needed: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    attributes: int
    at: int
    name: str

    @property
    def mode(self) -> int:
        """The Unix mode with its type bits; 0 where the packer wrote none."""
        return self.attributes >> 16

    @property
    def path(self) -> str:
        """The name as it is unpacked: some packers begin each with `./`, and write `./` itself, which is no member."""
        return self.name.removeprefix("./")

    @property
    def is_dir(self) -> bool:
        return self.name.endswith("/")


def member_pieces(file: BinaryIO, record: Record, at: int, clock: Clock) -> Iterator[bytes]:
    """The data of one member, which begin at `at`: read once, in steps, counted. Raises Refusal, also at their end."""
    file.seek(at)
    size, crc = 0, 0
    for piece in (_inflated if record.method == DEFLATED else _stored)(file, record, clock):
        clock.check()
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
            raise refuse("truncated", "the end of the file inside a member", "the complete file", file=record.name)
        yield piece


def _inflated(file: BinaryIO, record: Record, clock: Clock) -> Iterator[bytes]:
    """One whole stream. One that ends early leaves room for bytes which only some tools would read."""
    inflater = zlib.decompressobj(RAW)
    steps = _stored(file, record, clock)
    try:
        yield from inflated(steps, inflater)
    except zlib.error as error:
        raise refuse("deflate", f"broken compressed data ({error})", "a deflate stream", file=record.name) from error
    surplus = inflater.unused_data or next(steps, b"")
    if surplus or not inflater.eof:
        found = "compressed data after its end" if surplus else "compressed data that is cut short"
        raise refuse("deflate", found, "one whole deflate stream", file=record.name)
