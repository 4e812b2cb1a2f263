"""Findings beside the text that they are about, read from the stored archive of a module."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from apps.contrib.checks.models import TONES
from apps.lib.errors import NotFound, Unavailable
from apps.modules.contents import files
from apps.releases.models import Kind

# Lines before and after the one that is named.
AROUND = 2
MAX_LINE = 400
# Of one page: each is read from storage.
MAX_FILES = 20
# Of one report, to learn where its tool ran.
MAX_PATHS = 500


def beside(shown: Any, items: Sequence[Mapping[str, Any]], paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return findings or tests with their `tone`, the `path` of their file in the archive, empty if that has none, and
    the `lines` around theirs: number, text, and whether it is the one. `paths` are those of the whole report.
    """
    release = shown.release
    is_readable = release.kind == Kind.MODULE and release.quarantined_at is None
    names = {entry.name for entry in files.entries_of(shown)} if is_readable and items else set()
    root = _root_of(set(islice(filter(None, paths), MAX_PATHS)), names, release.folder)
    texts: dict[str, list[str]] = {}
    placed = []
    for item in items:
        path = item["file"].removeprefix(root)
        path = path if path in names else ""
        if path and path not in texts and len(texts) < MAX_FILES:
            texts[path] = _lines_of(shown, path)
        tone = TONES.get(item.get("severity") or item["state"], "")
        placed.append({**item, "tone": tone, "path": path, "lines": _around(texts.get(path, []), item["line"])})
    return placed


def _root_of(paths: Collection[str], names: Collection[str], folder: str) -> str:
    """The folder of the archive in the paths of a report, with a `/`. Tools name files from where they ran: in the
    module, above it, or from the root of the runner. Of several the one with most of the archive's files.
    """
    if folder and "\n" not in folder and any(path.startswith(f"{folder}/") for path in paths):
        return f"{folder}/"
    if any(path in names for path in paths):
        return ""
    roots = Counter(
        path.removesuffix(tail)
        for path in paths
        for tail in _tails(path)
        if tail in names and not path.startswith("../")  # that one is outside
    )
    return min(roots, key=lambda root: (-roots[root], len(root)), default="")


def _tails(path: str) -> Iterable[str]:
    parts = path.split("/")
    return ("/".join(parts[start:]) for start in range(1, len(parts)))


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
