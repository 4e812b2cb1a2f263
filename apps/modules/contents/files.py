"""Read single files of a published version from its stored archive: one range each, nothing unpacked to disk.

`ModuleVersion.files` has their offsets. A hostile archive can do no harm here: each member was checked before it was
stored, and the caller limits the bytes read.
"""

import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from apps.blobs import store
from apps.lib.archives.inflating import first_bytes
from apps.lib.errors import NotFound, Unavailable
from apps.modules.models import ModuleVersion

MAX_FILE_BYTES = 512 * 1024
_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One file by its full path. `at` is None in rows of an older Larder, which stored only names and sizes."""

    name: str
    size: int
    at: int | None = None
    packed: int = 0
    method: int = 0

    @property
    def last(self) -> str:
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Folder:
    """The direct contents of a folder: subfolders with their file counts, and files."""

    path: str
    folders: list[tuple[str, int]]
    files: list[Entry]


def entries_of(version: ModuleVersion) -> list[Entry]:
    return [_entry(row) for row in version.files]


def entry_at(version: ModuleVersion, path: str) -> Entry | None:
    return next((_entry(row) for row in version.files if row["name"] == path), None)


def folder_of(entries: Sequence[Entry], path: str) -> Folder | None:
    """The folder at `path` ("" is the root), sorted by name; None if it has no contents."""
    prefix = f"{path}/" if path else ""
    folders: dict[str, int] = {}
    files = []
    for entry in entries:
        if not entry.name.startswith(prefix):
            continue
        first, slash, _ = entry.name[len(prefix) :].partition("/")
        if slash:
            folders[first] = folders.get(first, 0) + 1
        else:
            files.append(entry)
    if path and not (folders or files):
        return None
    return Folder(path, sorted(folders.items()), sorted(files, key=lambda entry: entry.name))


def read_file(version: ModuleVersion, path: str, most: int = MAX_FILE_BYTES) -> bytes:
    """The first `most` bytes of a file. Raises NotFound, or Unavailable if storage fails."""
    entry = entry_at(version, path)
    if entry is None:
        raise NotFound(f"{version} has no file {path!r}.")
    if entry.at is None:
        raise NotFound(
            f"Larder has no position for {path!r} in the archive of {version}.",
            hint="Ask an operator to inspect the version again, or download the archive.",
        )
    try:
        read = partial(store.read, version.release.digest)
        return first_bytes(read, at=entry.at or 0, packed=entry.packed, method=entry.method, most=most)
    except (store.Missing, store.Damaged, zlib.error):
        raise Unavailable(f"{path!r} cannot be read from storage right now; try again in a few seconds.") from None


def image_type(data: bytes) -> str:
    """The media type of an image that browsers may show, by its first bytes; otherwise empty."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _IMAGES.items() if data.startswith(magic)), "")


def text_of(data: bytes, *, is_cut: bool) -> str | None:
    """The decoded text, None for binary data. If `is_cut`, the last character may be incomplete."""
    if b"\x00" in data:
        return None
    for dropped in range(4 if is_cut else 1):
        with suppress(UnicodeDecodeError):
            return data[: len(data) - dropped].decode("utf-8-sig")
    return None


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(row["name"], row["size"], row.get("at"), row.get("packed", 0), row.get("method", 0))
