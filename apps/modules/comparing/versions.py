"""Two versions of one module side by side, with the files that differ and their lines, read from the stored archives.

The lines are bounded: in files, bytes of a file, effort and lines. What is beyond a bound is named, never left out in
silence.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.lib.archives.layouts import is_module_file
from apps.lib.text import diffs
from apps.modules.catalogue.reading import module_for, version_of
from apps.modules.comparing.changes import SENTENCES, between
from apps.modules.contents import files
from apps.modules.inspection import README_NAMES
from apps.modules.models import ModuleVersion
from apps.releases.catalogue.comparing import Comparison, numbers_in, step_between

__all__ = ["ModuleComparison", "compare", "step_between"]
MAX_FILES = 40
MAX_BYTES = 128 * 1024
MAX_LINES = 2_000  # of all differences together
LONGEST_LINE = 400
# Control characters, and those that reorder or hide text: a difference must look like one.
_INVISIBLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
# The text of a file in a version, by its name.
TextOf = Callable[[str], str | None]
_SUFFIXES = (".tfvars", ".tfvars.json", ".tftest.hcl", ".tofutest.hcl", "/changelog.md")


@dataclass(frozen=True, slots=True)
class Files:
    """`changed`: by size, and by checksum unless one of the two was read by an older Larder."""

    added: list[str]
    removed: list[str]
    changed: list[str]


@dataclass(frozen=True, slots=True)
class ModuleComparison(Comparison):
    versions: tuple[ModuleVersion, ModuleVersion]
    files: Files


def compare(viewer: Viewer, address: ModuleAddress, asked: str) -> ModuleComparison:
    """`asked` is `1.2.0...2.0.0`. Raises as the gate does, and NotFound for a number that is not published."""
    module = module_for(viewer, address)
    before, after = (version_of(viewer, module, number) for number in numbers_in(asked))
    changes = between(before.inspection, after.inspection)
    files = files_between(before.files, after.files)
    return ModuleComparison(module.address, before.release, after.release, changes, SENTENCES, (before, after), files)


def files_between(before: Iterable[dict[str, Any]], after: Iterable[dict[str, Any]]) -> Files:
    """Of rows as `ModuleVersion.files` has them."""
    old, new = ({one["name"]: one for one in rows} for rows in (before, after))
    changed = [
        name
        for name in old.keys() & new.keys()
        if old[name]["size"] != new[name]["size"]
        or len({one["crc"] for one in (old[name], new[name]) if "crc" in one}) > 1
    ]
    return Files(
        added=sorted(new.keys() - old.keys()),
        removed=sorted(old.keys() - new.keys()),
        changed=sorted(changed),
    )


@dataclass(frozen=True, slots=True)
class FileDiff:
    """`problem` says why there are no hunks."""

    name: str
    hunks: list[diffs.Hunk] = field(default_factory=list)
    problem: str = ""

    @property
    def added(self) -> int:
        return self._count("+")

    @property
    def removed(self) -> int:
        return self._count("-")

    def _count(self, sign: str) -> int:
        return sum(line.sign == sign for hunk in self.hunks for line in hunk.lines)


@dataclass(frozen=True, slots=True)
class Texts:
    """`left_out` counts text files beyond MAX_FILES, `others` has those that are not compared line by line."""

    shown: list[FileDiff]
    left_out: int
    others: list[str]


def differences(found: ModuleComparison) -> Texts:
    """Reads storage. Raises Unavailable if it fails."""
    before, after = (partial(stored_text, version) for version in found.versions)
    return differences_in(found.files.changed, before, after)


def stored_text(version: ModuleVersion, name: str) -> str | None:
    """A file's text; None if it is too large, not text, or its place is not known. Raises Unavailable."""
    entry = files.entry_at(version, name)
    if entry is None or entry.at is None or entry.size > MAX_BYTES:
        return None
    return files.text_of(files.read_file(version, name, most=MAX_BYTES), is_cut=False)


def differences_in(changed: Iterable[str], before: TextOf, after: TextOf) -> Texts:
    """Line by line, READMEs first."""
    every = list(changed)
    names = sorted((name for name in every if _is_text(name)), key=lambda name: (not _is_readme(name), name))
    others = [name for name in every if not _is_text(name)]
    return Texts(list(_compared((before, after), names[:MAX_FILES])), max(0, len(names) - MAX_FILES), others)


def _compared(found: tuple[TextOf, TextOf], names: list[str]) -> Iterator[FileDiff]:
    effort, room = diffs.Effort(), MAX_LINES
    for name in names:
        if room <= 0:
            yield FileDiff(name, problem="Not shown: the page is full.")
            continue
        one = _diff(found, name, effort)
        room -= sum(len(hunk.lines) for hunk in one.hunks)
        if room < 0:
            one = FileDiff(name, problem="Too many changed lines to show.")
        yield one


def _diff(found: tuple[TextOf, TextOf], name: str, effort: diffs.Effort) -> FileDiff:
    texts: list[list[str]] = []
    for text_of in found:
        text = text_of(name)
        if text is None:
            return FileDiff(name, problem="Too large, not text, or not indexed by Larder.")
        lines = text.replace("\r\n", "\n").split("\n")
        texts.append(lines if lines[-1] else lines[:-1])
    before, after = texts
    try:
        hunks = diffs.hunks(before, after, effort)
    except diffs.TooDifferent:
        return FileDiff(name, problem="The files are too different to compare line by line.")
    for hunk in hunks:
        for at, line in enumerate(hunk.lines):
            cut = f"{line.text[:LONGEST_LINE]}…" if len(line.text) > LONGEST_LINE else line.text
            text = _INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", cut)
            hunk.lines[at] = replace(line, text=text)
    return FileDiff(name, hunks, "" if hunks else "Only line endings differ.")


def _is_readme(name: str) -> bool:
    return name.rpartition("/")[2].lower() in README_NAMES


def _is_text(name: str) -> bool:
    return is_module_file(name) or _is_readme(name) or f"/{name.lower()}".endswith(_SUFFIXES)
