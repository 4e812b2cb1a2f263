"""Errors that clients would report on loading a module or one of its submodules, asked about before publication.

Each rule was measured with `init` of terraform 1.11 and tofu 1.12 and applies to both. A file that one of them loads
raises no question: a false alarm costs every publisher's trust, a miss costs one publisher a version.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.lib.archives.layouts import SUBMODULES
from apps.lib.errors import Reason

UNLOADABLE = "unloadable"
PLAN_FAILS = "plan_fails"
FAULTS_NAMED = 5
WARNINGS_NAMED = 20
MAX_NAME_CHARACTERS = 300  # a name or a source may be as long as its file
# Below `modules/`, files in these folders may be templates, whatever their suffix.
_TEMPLATES = frozenset({"file", "files", "script", "scripts", "template", "templates"})
_LOCAL = ("./", "../")
_LOADS = "a file that clients can parse, so that init succeeds"
_PLANNED = "names that are declared, so that plan succeeds"

Unit = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """`is_loaded`: users of the module meet it, not only users of the folder that it is in."""

    file: str
    line: int
    message: str
    is_loaded: bool

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.message}"


def faults_in(inspected: Mapping[str, Any], paths: Iterable[str]) -> list[Fault]:
    """`inspected` is the answer of `inspection`, `paths` are all members. Faults that users of the module meet come
    first.
    """
    units = {unit["path"]: unit for unit in inspected["units"]}
    folders = {""}  # all that unpacking the archive creates
    for member in paths:
        folder = member.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    # The folders that clients load: the root, its submodules and every folder that these call.
    waiting = []
    for path, unit in units.items():
        _, *below = path.removeprefix(f"{SUBMODULES}/").split("/")
        if unit["kind"] in {"root", "submodule"} and _TEMPLATES.isdisjoint(below):
            waiting.append(path)
    loaded = set(waiting)
    while waiting:
        unit = units[waiting.pop()]
        called = units.keys() & {called_folder(unit, call) for call in unit["calls"]}
        waiting += called - loaded
        loaded |= called
    faults = [
        Fault(one["file"], one["line"], _shortened(one["message"]), path in loaded)
        for path, unit in units.items()
        for one in (*inspected.get("faults", {}).get(path, ()), *_bad_calls(unit, folders))
    ]
    return sorted(faults, key=lambda fault: not fault.is_loaded)


def question(faults: Iterable[Fault]) -> Reason | None:
    """The question about faults that users of the module meet; None if there are none."""
    loaded = [fault for fault in faults if fault.is_loaded]
    if not loaded:
        return None
    named, more = "; ".join(map(str, loaded[:FAULTS_NAMED])), len(loaded) - FAULTS_NAMED
    return Reason(
        code=UNLOADABLE,
        file=loaded[0].file,
        found=f"{named}; and {more} more" if more > 0 else named,
        expected=_LOADS,
        hint="Clients will fail with this error. Fix it and upload again; or confirm to publish it anyway (in a "
        "script: ?confirm=unloadable).",
    )


def warnings(faults: Sequence[Fault]) -> list[dict[str, str]]:
    """For the notes of a release, as reasons: the first faults, and the number of the rest."""
    hint = "Clients that load this folder will fail."
    return _first([Reason(UNLOADABLE, f"line {one.line}: {one.message}", _LOADS, hint, one.file) for one in faults])


def plan_warnings(inspected: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return warnings about what loads and can never be planned. `inspected` is the answer of `inspection`."""
    errors = [one for unit in inspected["units"] for one in unit.get("plan_errors", ())]
    return _first(
        [
            Reason(PLAN_FAILS, f"line {one['line']}: {one['message']}", _PLANNED, one["hint"], one["file"])
            for one in errors
        ]
    )


def _first(reasons: list[Reason]) -> list[dict[str, str]]:
    more = reasons[WARNINGS_NAMED:]
    last = [replace(more[0], found=f"and {len(more)} more like this")] if more else []
    return [reason.as_dict() for reason in (*reasons[:WARNINGS_NAMED], *last)]


def _shortened(message: str) -> str:
    return message if len(message) <= MAX_NAME_CHARACTERS else f"{message[: MAX_NAME_CHARACTERS - 1]}…"


def called_folder(unit: Unit, call: Mapping[str, Any]) -> str | None:
    return None if "source" in call.get("computed", ()) else local_target(unit["path"], call["source"])


def local_target(folder: str, source: str) -> str | None:
    """The folder that a local source names in this one, None for other sources. Starts with `..` if it lies outside the
    package.
    """
    if not source.startswith(_LOCAL):
        return None
    path = posixpath.normpath(posixpath.join(folder, source))
    return "" if path == "." else path


def _bad_calls(unit: Unit, folders: Collection[str]) -> Iterator[dict[str, Any]]:
    """Both clients treat a folder without configuration as an empty module, and fail on a missing one."""
    for call in unit["calls"]:
        target = called_folder(unit, call)
        if target is None or target in folders or _is_for_some(unit, call["file"]):
            continue
        leaves = target == ".." or target.startswith("../")
        why = "leads out of the archive" if leaves else f"names no folder of the archive (there is no {target})"
        message = f"the source of module {call['name']}, {call['source']}, {why}"
        yield {"file": call["file"], "line": call["line"], "message": message}


def _is_for_some(unit: Unit, file: str) -> bool:
    """Terraform skips the file but sees others in its folder."""
    tables = ("variables", "outputs", "resources", "providers", "calls", "required_version")
    seen = {row["file"] for table in tables for row in unit[table]}
    return _is_tofu(file) and not all(map(_is_tofu, seen))


def _is_tofu(file: str) -> bool:
    return file.endswith((".tofu", ".tofu.json"))
