"""Read the archive of a commit while git writes it."""

import tarfile
from collections.abc import Iterable, Iterator
from io import BufferedReader, RawIOBase
from typing import IO


def files_in(archive: Iterable[bytes]) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    """Yield each regular file; it can be read until the next one is asked for."""
    with tarfile.open(fileobj=BufferedReader(_Chunks(iter(archive))), mode="r|") as tar:
        for member in tar:
            opened = tar.extractfile(member) if member.isfile() else None
            if opened is not None:
                yield member, opened


class _Chunks(RawIOBase):
    """The stream of chunks that tarfile reads."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # a buffer that can be written to
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
