"""Writes a zip front to back, without seeking and in flat memory: the same members give the same bytes.

No times, no owners, no extra fields, and of a mode only the executable bit. Small members have their sizes in the local
record, which `zipfile` cannot do without seeking; larger ones have them in a descriptor after their data (APPNOTE
4.3.9), as any streaming tool writes them. A release is known by these bytes: they must not depend on Python's version.
"""

import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence

from apps.lib.archives.rules.limits import at_most
from apps.lib.archives.rules.outcome import refuse

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_DESCRIPTOR = struct.Struct("<4s3L")
_END = struct.Struct("<4s4H2LH")
_UNIX, _VERSION = 3 << 8 | 20, 20
_STAMP = (0, 1 << 5 | 1)  # midnight on 1980-01-01, the first day that a zip can express
_UTF8, _STREAMED = 1 << 11, 1 << 3
_STORED, _DEFLATED = 0, 8
# Another level or threshold gives other bytes for the same module: change neither.
_LEVEL = 6
_MAX_BUFFER_BYTES = 1024 * 1024
_MAX_LINKED_BYTES = 64 * 1024 * 1024
_STEP = 64 * 1024
_MAX_FILES, _MAX_BYTES = 0xFFFE, 0xFFFFFFFE  # a larger zip must be a zip64


class ZipWriter:
    """Passes the archive to `emit`, piece by piece. `files` counts the members."""

    def __init__(self, emit: Callable[[bytes], None]) -> None:
        self.files = 0
        self._emit = emit
        self._pending = bytearray()
        self._at = 0
        self._directory = bytearray()

    def add(self, names: Sequence[str], pieces: Iterator[bytes], *, executable: bool) -> None:
        """Writes one file under each of its names. All names of a zip are different and follow the reader's rules."""
        packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        buffer = bytearray()
        size, crc, packed, at = 0, 0, 0, None
        for piece in pieces:
            size += len(piece)
            crc = zlib.crc32(piece, crc)
            buffer += packer.compress(piece)
            # A file with several names is packed once, into memory: a tar cannot be read backwards.
            if len(names) > 1:
                _check_linked(buffer, names[1])
            elif len(buffer) > _MAX_BUFFER_BYTES or at is not None:
                at = self._local(names[0], _STREAMED, _DEFLATED, (0, 0, 0)) if at is None else at
                packed += len(buffer)
                self._write(buffer)
                buffer.clear()
        method = _DEFLATED if size else _STORED
        buffer += packer.flush() if size else b""
        facts = (crc, packed + len(buffer), size)
        if at is not None:
            self._check_room(names[0], size)
            self._write(buffer)
            self._write(_DESCRIPTOR.pack(b"PK\x07\x08", *facts))
            self._record(names[0], _STREAMED, method, facts, executable=executable, at=at)
            return
        for name in names:
            self._check_room(name, size)
            at = self._local(name, 0, method, facts)
            self._write(buffer)
            self._record(name, 0, method, facts, executable=executable, at=at)

    def finish(self) -> None:
        """Writes the directory. Nothing may be added after it."""
        at, size = self._at, len(self._directory)
        self._write(self._directory)
        self._write(_END.pack(b"PK\x05\x06", 0, 0, self.files, self.files, size, at, 0))
        self._flush()

    def _local(self, name: str, flag: int, method: int, facts: tuple[int, int, int]) -> int:
        """Writes a local record and returns where it begins."""
        at, raw_name = self._at, name.encode("utf-8")
        header = _LOCAL.pack(b"PK\x03\x04", _VERSION, _UTF8 | flag, method, *_STAMP, *facts, len(raw_name), 0)
        self._write(header + raw_name)
        return at

    def _record(
        self, name: str, flag: int, method: int, facts: tuple[int, int, int], *, executable: bool, at: int
    ) -> None:
        raw_name = name.encode("utf-8")
        mode = stat.S_IFREG | (0o755 if executable else 0o644)
        fields = (_UNIX, _VERSION, _UTF8 | flag, method, *_STAMP, *facts, len(raw_name), 0, 0, 0, 0, mode << 16, at)
        self._directory += _CENTRAL.pack(b"PK\x01\x02", *fields) + raw_name
        self.files += 1

    def _check_room(self, name: str, size: int) -> None:
        if size > _MAX_BYTES or self._at > _MAX_BYTES - size or self.files >= _MAX_FILES:
            found = f"{self.files + 1} files of {self._at + size} bytes"
            raise refuse("too_large_repacked", found, "a plain zip", "Leave files out.", name)

    def _write(self, data: bytes | bytearray) -> None:
        self._at += len(data)
        self._pending += data
        if len(self._pending) >= _STEP:
            self._flush()

    def _flush(self) -> None:
        view = memoryview(bytes(self._pending))
        for start in range(0, len(view), _STEP):
            self._emit(bytes(view[start : start + _STEP]))
        self._pending.clear()


def _check_linked(buffer: bytearray, name: str) -> None:
    if len(buffer) > _MAX_LINKED_BYTES:
        expected = at_most(_MAX_LINKED_BYTES, "bytes, packed, in a file that is linked to")
        raise refuse("too_large_linked", "a link to a larger file", expected, "Leave the link out.", name)
