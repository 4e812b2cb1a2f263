"""The sandboxed program that repacks an archive as a zip. Equal members give equal bytes."""

import stat
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from apps.lib.archives.child_inspecting import members, one_verdict
from apps.lib.archives.rules.collector import Member
from apps.lib.archives.rules.limits import Clock, Limits, at_most
from apps.lib.archives.rules.outcome import Entry, Refusal, refuse
from apps.lib.sandbox.frames import emit
from apps.lib.sandbox.positioned import open_positioned

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # that a zip can express
_UNIX = 3
_MAX_LINKED_BYTES = 64 * 1024 * 1024
_STEP = 64 * 1024


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    limits = Limits(**request["limits"])
    writer = ZipWriter(emit)
    try:
        with one_verdict(request["form"]):
            # Time of this process only: the parent may read the output as slowly as it likes.
            clock = Clock(limits.repack_seconds, time.process_time)
            file = open_positioned(stdin)
            repack_members(members(file, limits, clock, request["form"], by_name=True, links=True), request, writer)
    except Refusal as refusal:
        return refusal.as_fields()
    return {"files": writer.files}


def repack_members(archive: Iterable[Member], request: dict[str, Any], writer: "ZipWriter") -> None:
    """Writes what the request asks for. Raises Refusal."""
    prefix = f"{request['folder']}/" if request["folder"] else ""
    starts = tuple(f"{prefix}{folder}/" for folder in request["only"]) or (prefix,)
    leave_out = set(request["leave_out"])
    copies = request["copies"]
    try:
        for entry, pieces in archive:
            # Folders get no records: clients make those that files need. Links become copies of their targets.
            if entry.is_dir or entry.link:
                continue
            names = copies.get(entry.name, [])
            if entry.name.startswith(starts) and entry.name not in leave_out:
                names = [entry.name, *names]
            writer.add(entry, [name[len(prefix) :] for name in names], pieces)
        if prefix and not writer.files:
            raise refuse("folder_missing", "no file below it", "a folder of the archive", "Choose another.", prefix)
        writer.finish()
    except zipfile.LargeZipFile as error:
        raise refuse("too_large_repacked", str(error), "a plain zip", "Leave files out.") from None


class ZipWriter:
    """Passes the archive to `emit`, piece by piece, in flat memory. `files` counts the members.

    No times, no owners, no extra fields, and of a mode only the executable bit. Sizes follow the data, in a descriptor
    (APPNOTE 4.3.9): zipfile writes nothing twice to a file that cannot seek.
    """

    def __init__(self, emit: Callable[[bytes], None]) -> None:
        self.files = 0
        self._zip = zipfile.ZipFile(_Pipe(emit), "w", allowZip64=False)

    def add(self, entry: Entry, names: Sequence[str], pieces: Iterable[bytes]) -> None:
        """Writes a file under each of the names, which are different and follow the reader's rules."""
        if len(names) > 1:  # a tar cannot be read backwards
            if entry.size > _MAX_LINKED_BYTES:
                expected = at_most(_MAX_LINKED_BYTES, "bytes in the target of a link")
                raise refuse("too_large_linked", "a link to a larger file", expected, "Leave the link out.", names[1])
            pieces = list(pieces)
        for name in names:
            info = zipfile.ZipInfo(name, _FIRST_DAY)
            info.compress_type, info.create_system, info.file_size = zipfile.ZIP_DEFLATED, _UNIX, entry.size
            info.external_attr = (stat.S_IFREG | (0o755 if entry.mode & 0o111 else 0o644)) << 16
            with self._zip.open(info, "w") as file:
                for piece in pieces:
                    file.write(piece)
            self.files += 1

    def finish(self) -> None:
        """Writes the directory. Nothing may be added after it."""
        self._zip.close()


class _Pipe:
    """A file that can only be written to; `emit` gets at least 64 KiB at once, except for the last piece."""

    def __init__(self, emit: Callable[[bytes], None]) -> None:
        self._emit = emit
        self._pending = bytearray()

    def write(self, data: bytes, /) -> int:
        self._pending += data
        if len(self._pending) >= _STEP:
            self.flush()
        return len(data)

    def flush(self) -> None:
        self._emit(bytes(self._pending))
        self._pending.clear()

    close = flush  # requested by the type of zipfile's parameter
