"""Rules for the names of members: every file system of every client must be able to store them."""

import re
from collections.abc import Iterable, Iterator
from unicodedata import normalize

from apps.lib.archives.rules.limits import Limits, at_most
from apps.lib.archives.rules.outcome import shown
from apps.lib.errors import Reason

_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CLOCK$", "CONIN$", "CONOUT$"]
    + [f"{port}{number}" for port in ("COM", "LPT") for number in "0123456789¹²³"]
)
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")
_RENAME = "Rename it and pack again."


def broken_names(names: Iterable[str], limits: Limits, *, twins: bool = False) -> Iterator[Reason]:
    """A reason for each bad name, in the order given; if there is none, for each two that clash.

    With `twins` the caller settles names that differ only in case (`case_twins`).
    """
    names = list(names)
    bad = False
    for name in names:
        code, found, expected = _whole(name, limits) or _parts(name, limits) or ("", "", "")
        if code:
            bad = True
            yield Reason(code, found, expected, _RENAME, shown(name))
    if not bad:
        yield from _clashes(names, twins=twins)


def case_twins(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each file whose path differs only in case, or in composed accents, from an earlier file or folder; with that."""
    seen: dict[str, str] = {}
    for name in names:
        parts = name.split("/")
        paths = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
        folded = [_folded(path) for path in paths]
        twin = next((seen[key] for key, path in zip(folded, paths, strict=True) if seen.get(key, path) != path), None)
        if twin is not None:
            yield name, twin
        else:
            seen |= zip(folded, paths, strict=True)


def _whole(name: str, limits: Limits) -> tuple[str, str, str] | None:
    if not name:
        return "name_empty", "a member without a name", "a name"
    size = len(name.encode("utf-8"))
    if size > limits.name_bytes:
        return "name_too_long", f"a name of {size} bytes", at_most(limits.name_bytes, "bytes")
    if control := _CONTROL.search(name):
        return "name_control", f"the control character {control[0]!r} in a name", "none"
    return _rooted(name)


def _rooted(name: str) -> tuple[str, str, str] | None:
    if "\\" in name:
        return "name_backslash", "a backslash in a name", "'/' between folders"
    if name.startswith("/"):
        return "name_absolute", "an absolute path", "a path inside the archive"
    if name[1:2] == ":" and name[0].isascii() and name[0].isalpha():
        return "name_drive", f"the drive letter {name[:2]!r}", "a path inside the archive"
    return None


def _parts(name: str, limits: Limits) -> tuple[str, str, str] | None:
    parts = name.removesuffix("/").split("/")
    if len(parts) > limits.depth:
        return "name_too_deep", f"a depth of {len(parts)}", at_most(limits.depth, "levels")
    return next(filter(None, map(_part, parts)), None)


def _part(part: str) -> tuple[str, str, str] | None:
    if part in ("", ".", ".."):
        return "name_dots", f"the path part {part!r}", "names of files and folders only"
    if part[-1] in ". ":
        return "name_ending", f"the path part {part[:80]!r}, which ends in a dot or a space", "another ending"
    # Windows opens the device with any extension, and ignores spaces before it.
    if part.partition(".")[0].rstrip(" ").upper() in _DEVICES:
        return "name_device", f"{part[:80]!r}, a device name on Windows", "another name"
    return None


def _clashes(names: list[str], *, twins: bool) -> Iterator[Reason]:
    """Names that differ only in case or in composed accents, and files that are folders as well."""
    own: dict[bool, dict[str, str]] = {True: {}, False: {}}  # is it a folder's own record? -> folded path -> name
    folders: dict[str, str] = {}  # folded path -> path, of every folder that has a record or lies on a path
    for name in names:
        path = name.removesuffix("/")
        spellings, key = own[name.endswith("/")], _folded(path)
        first = spellings.get(key)  # not setdefault and `is`: equal names of one letter are one object
        if first is None:
            spellings[key] = name
        elif not twins or name == first:
            yield _twice(name, first)
        folder = path if name.endswith("/") else path.rpartition("/")[0]
        while folder:
            spelling = folders.setdefault(_folded(folder), folder)
            if spelling is not folder:
                if spelling != folder and first is None and not twins:
                    yield _twice(name, spelling)
                break  # the folders above it were seen with it
            folder = folder.rpartition("/")[0]
    for key in sorted(own[False].keys() & folders.keys()):
        if twins and own[False][key] != folders[key]:
            continue
        found = f"a folder named {shown(folders[key])!r} beside it"
        yield Reason("file_and_folder", found, "either a file or a folder", _RENAME, shown(own[False][key]))


def _twice(name: str, first: str) -> Reason:
    how = "twice" if name == first else f"beside {shown(first)!r}, the same name except for letter case"
    return Reason("duplicate_name", f"it {how}", "each name once", _RENAME, shown(name))


def _folded(path: str) -> str:
    return path.lower() if path.isascii() else normalize("NFC", normalize("NFC", path).casefold())
