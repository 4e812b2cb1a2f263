"""A reader that hashes the whole file while it is read from front to back."""

import hashlib
import os
from typing import TYPE_CHECKING

from apps.lib.sandbox.positioned import PositionedReader

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_STEP = 64 * 1024


class FollowedReader(PositionedReader):
    """From `follow` on, hashes all bytes that are read or skipped, each once.

    Before that, the directory at the end of a zip can be read without being hashed.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._hash = hashlib.sha256()
        self._hashed = 0
        self._follows = False

    def follow(self) -> None:
        self._follows = True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        at = self._at
        count = super().readinto(buffer)
        if self._follows:
            self._catch_up(at)
            self._hash.update(memoryview(buffer)[self._hashed - at : count])
            self._hashed = max(self._hashed, at + count)
        return count

    def finish(self) -> tuple[str, int]:
        """Reads the rest, and returns the digest and size of the whole file."""
        self._catch_up(self._size)
        return self._hash.hexdigest(), self._hashed

    def _catch_up(self, end: int) -> None:
        while self._hashed < end:
            piece = os.pread(self._descriptor, min(_STEP, end - self._hashed), self._hashed)
            if not piece:
                raise OSError(f"the file ended at byte {self._hashed} of {end} while it was read")
            self._hash.update(piece)
            self._hashed += len(piece)
