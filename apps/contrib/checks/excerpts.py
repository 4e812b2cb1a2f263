"""Findings beside the text that they are about, read from the stored archive of a module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.lib.errors import NotFound, Unavailable
from apps.modules.contents import files
from apps.releases.models import Kind

# Lines before and after the one that is named.
AROUND = 2
MAX_LINE = 400
# Of one page: each is read from storage.
MAX_FILES = 20


@dataclass(frozen=True, slots=True)
class Placed:
    """A finding or a test. `path` is its file in the archive; empty if that has none of this name. `lines` have their
    number, their text, and whether it is the line itself.
    """

    item: Mapping[str, Any]
    tone: str
    path: str
    lines: list[tuple[int, str, bool]]

    @property
    def at(self) -> str:
        """The line behind the name of the file, where there is one."""
        return f":{self.item['line']}" if self.item["line"] else ""


def beside(shown: Any, items: Sequence[Mapping[str, Any]], tones: Mapping[str, str]) -> list[Placed]:
    release = shown.release
    is_readable = release.kind == Kind.MODULE and release.quarantined_at is None
    names = {entry.name for entry in files.entries_of(shown)} if is_readable and items else set()
    texts: dict[str, list[str]] = {}
    placed = []
    for item in items:
        path = _path_of(str(item["file"]), names, release.folder)
        if path and path not in texts and len(texts) < MAX_FILES:
            texts[path] = _lines_of(shown, path)
        placed.append(
            Placed(
                item,
                tones.get(str(item.get("severity") or item["state"]), ""),
                path,
                _around(texts.get(path, []), item["line"]),
            )
        )
    return placed


def _path_of(named: str, names: set[str], folder: str) -> str:
    """The file of the archive that a tool names: by its own path, or by that in the repository of which a folder was
    published. Empty for any other, such as `../main.tf`.
    """
    if named in names:
        return named
    inner = named.removeprefix(f"{folder}/") if folder and "\n" not in folder else ""
    return inner if inner in names else ""


def _lines_of(shown: Any, path: str) -> list[str]:
    try:
        data = files.read_file(shown, path)
    except (NotFound, Unavailable):  # the finding is worth showing without it
        return []
    text = files.text_of(data, is_cut=len(data) >= files.MAX_FILE_BYTES)
    return text.splitlines() if text is not None else []


def _around(lines: list[str], line: int) -> list[tuple[int, str, bool]]:
    if not 0 < line <= len(lines):
        return []
    first, last = max(1, line - AROUND), min(len(lines), line + AROUND)
    return [(number, lines[number - 1][:MAX_LINE], number == line) for number in range(first, last + 1)]
