"""Reads a file whose descriptor is shared with another process."""

import io
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

Place = tuple[str, int, int]  # a text's name, where it begins in the file, and its length

_BUFFER = 64 * 1024


def open_positioned(descriptor: int) -> BinaryIO:
    """A buffered, seekable reader of a regular file that never moves the descriptor's own position."""
    return io.BufferedReader(PositionedReader(descriptor), _BUFFER)


def texts_at(descriptor: int, places: Iterable[Place]) -> Iterator[tuple[str, bytes]]:
    """The texts at these places of a file, with their names."""
    with open_positioned(descriptor) as file:
        for name, at, length in places:
            file.seek(at)
            yield name, file.read(length)


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
        if hasattr(os, "preadv"):
            count = os.preadv(self._descriptor, [buffer], self._at)
        else:
            view = memoryview(buffer)
            data = os.pread(self._descriptor, len(view), self._at)
            count = len(data)
            view[:count] = data
        self._at += count
        return count
