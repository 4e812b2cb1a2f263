"""All module files of an archive, folder by folder as OpenTofu reads them, as the document that its page shows."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

from apps.lib.archives.layouts import MODULE_SUFFIXES, is_beside_module, is_command_file, is_module_file
from apps.lib.hcl.files import Diagnostic, File, Unreadable
from apps.lib.hcl.tree import stray_byte
from apps.modules.inspection import declarations
from apps.modules.inspection.archive import judge_archive
from apps.modules.inspection.blocks import (
    MAX_DIAGNOSTICS,
    MAX_DOCUMENT_BYTES,
    MAX_FAULTS,
    MAX_FILE_BYTES,
    MAX_FILES,
    Block,
    NotText,
    Reading,
)
from apps.modules.inspection.declarations import declared
from apps.modules.inspection.folders import faults_of, findings_of, is_known
from apps.modules.inspection.interfaces import Interface, interface_of
from apps.modules.inspection.language.clients import EVERY, NONE, Clients, Finding, refused_by_all, required, since
from apps.modules.inspection.language.files import judged, requirements
from apps.modules.inspection.language.plan_errors import plan_errors
from apps.modules.inspection.reading import read_json_syntax, read_native

KINDS = ("root", "submodule", "example", "other")
Document = dict[str, Any]
LISTS = ("required_version", "variables", "outputs", "resources", "providers", "calls")
# Absent from a unit that has none.
RARE_LISTS = (
    *("requires", "plan_errors", "compatible_with", "moved", "removed", "imports", "actions", "queries", "migrations"),
)
_LOST = "lost"
MAX_INTERFACES_BYTES = 2 * 1024 * 1024  # what one child says of its folders to the others
INTERNAL_ERROR = "not read: Larder failed to read this file"
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Folder:
    """`path` is empty for the root. `files` are those of the module, then those of commands; `left`: too many."""

    path: str
    kind: str
    files: Sequence[str]
    left: Sequence[str] = ()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def folders_of(paths: Iterable[str], chosen: Collection[str] = ()) -> list[Folder]:
    """Root first, then submodules, examples, and all others that hold module files: clients can address each. Those
    directly in `modules/` and `examples/` come before the deeper ones, and are read first.

    The `chosen` folders of a version, if there are several, are submodules: its users load them. So is every folder
    that does not lie beside a module, if there is neither a root nor a submodule; without any, there is a root in any
    case: clients load it then, whatever is in it.
    """
    files: dict[str, list[str]] = {}
    of_commands: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        if is_module_file(name):
            files.setdefault(folder, []).append(path)
        elif is_command_file(name):
            of_commands.setdefault(folder, []).append(path)
    kinds = {path: kind_of(path) for path in files}
    kinds |= {path: "submodule" for path in files if path in chosen and kinds[path] == "other"}
    if "root" not in kinds.values() and "submodule" not in kinds.values():
        kinds |= {path: "submodule" for path in files if not is_beside_module(f"{path}/main.tf")}
        if "submodule" not in kinds.values():
            files[""], kinds[""] = [], "root"
    folders = []
    room = MAX_FILES
    for path in sorted(files, key=lambda path: (not is_prominent(path), KINDS.index(kinds[path]), path)):
        there = set(files[path])
        seen = (*(one for one in files[path] if not _is_hidden(one, there)), *of_commands.get(path, ()))
        folders.append(Folder(path, kinds[path], seen[:room], seen[room:]))
        room -= len(folders[-1].files)
    return folders


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def is_read(path: str) -> bool:
    name = _last(path)
    return is_module_file(name) or is_command_file(name)


def kind_of(folder: str) -> str:
    """`modules/a` and `modules/a/b` are submodules; `modules/a/examples/b` is none: it lies beside what is loaded."""
    top, slash, _ = folder.partition("/")
    if not folder:
        return "root"
    if top == "modules" and slash and not is_beside_module(f"{folder}/main.tf"):
        return "submodule"
    return "example" if top == "examples" and slash else "other"


def is_prominent(folder: str) -> bool:
    """Return whether the folder is the root, or lies directly in `modules/` or `examples/`."""
    return kind_of(folder) != "other" and folder.count("/") <= 1


def is_override(path: str) -> bool:
    stem, _ = _split(path)
    return stem == "override" or stem.endswith("_override")


def _is_hidden(path: str, there: Collection[str]) -> bool:
    """OpenTofu ignores it: `main.tofu` hides `main.tf`."""
    stem, suffix = _split(path, whole=True)
    return suffix.startswith(".tf") and f"{stem}.tofu{suffix.removeprefix('.tf')}" in there


def _split(path: str, *, whole: bool = False) -> tuple[str, str]:
    """Name (with its folder where `whole`) and suffix; `.tf.json` is one suffix."""
    suffix = max((suffix for suffix in MODULE_SUFFIXES if path.endswith(suffix)), key=len, default="")
    stem = path.removesuffix(suffix)
    return (stem if whole else stem.rpartition("/")[2]), suffix


@dataclass(frozen=True, slots=True)
class Unit:
    """One folder's declarations; `parts` are the lists of a unit; `faults` stop every client. `refusing`: who does
    not load it, of those that are known. `interface`: None if something of the folder is not known.
    """

    parts: Document
    diagnostics: list[Diagnostic]
    faults: list[Diagnostic]
    refusing: Clients
    interface: Interface | None = None


def read_unit(
    files: Mapping[str, bytes],
    sizes: Mapping[str, int] | None = None,
    left: Iterable[str] = (),
    repeated: "_Repeated | None" = None,
) -> Unit:
    """The files of one folder. `sizes` as for `read_module`; `left`: those that are too many. Raises nothing."""
    sizes = sizes or {}
    read = repeated.read if repeated else _read_file
    every = {
        path: read(path, files.get(path), sizes.get(path, len(files.get(path, b""))))
        for path in sorted({*files, *sizes})
        if is_read(path)
    }
    readings = {path: reading for path, reading in every.items() if not is_command_file(path)}
    of_commands = [block for path, reading in every.items() if path not in readings for block in reading.blocks]
    primary = [path for path in readings if not is_override(path)]
    overriding = [path for path in readings if is_override(path)]
    found = declared(
        [block for path in primary for block in readings[path].blocks],
        [readings[path].blocks for path in overriding],
    )
    findings = findings_of(readings, found)
    stopping = refused_by_all(findings)
    faults = _ordered(faults_of(readings, found.conflicts, stopping, is_whole=not left))
    known = not (left or overriding or faults) and is_known(readings)
    uses = {path: one.uses for path, reading in readings.items() for one in reading.judged if known and one.uses}
    is_sure = all(readings[path].is_complete for path in overriding) and not any(map(is_override, left))
    parts: Document = {
        "required_version": [
            {"text": value.text, "file": file, "line": value.line} for file, value in found.required_versions
        ],
        "variables": [declarations.variable(block, is_sure=is_sure) for block in found.of("variable")],
        "outputs": [declarations.output(block) for block in found.of("output")],
        "resources": [declarations.resource(block) for block in found.of(*declarations.MODES)],
        "providers": declarations.providers(found),
        "calls": [declarations.call(block) for block in found.of("module")],
    }
    rare = {
        "requires": [] if stopping else requirements(findings),
        "plan_errors": [one.as_dict() for one in plan_errors(uses, found)] if known else [],
        "compatible_with": declarations.compatible_with(found),
        **declarations.state_changes(found),
        "actions": [declarations.of_provider(block) for block in found.of("action")],
        "queries": [declarations.of_provider(block) for block in of_commands if block.kind == "list"],
        "migrations": [
            declarations.migration(inner) for block in of_commands if block.kind == "from" for inner in block.blocks
        ],
    }
    parts |= {name: rows for name, rows in rare.items() if rows}
    diagnostics = [*found.diagnostics, *(one for reading in every.values() for one in reading.diagnostics)]
    refusing = EVERY if faults else reduce(or_, (finding.refusing for finding in findings), NONE)
    interface = interface_of(readings, found) if known else None
    return Unit(parts, _ordered(diagnostics), faults, refusing, interface)


def read_module(texts: Mapping[str, bytes], sizes: Mapping[str, int], chosen: Collection[str] = ()) -> Document:
    """`{"units": […], "faults": {path: [diagnostic]}}` for texts by their paths in the archive, whatever is in them.

    `sizes` are those of the files in the archive: a text that is shorter was cut, one that is missing was not sent,
    and neither is read. `chosen` as for `folders_of`.
    """
    folders = folders_of({*texts, *sizes}, chosen)
    return joined(folders, [read_folders(folders, texts, sizes)])


def read_folders(folders: Iterable[Folder], texts: Mapping[str, bytes], sizes: Mapping[str, int]) -> Document:
    """These folders of a module, for `joined`; `texts` and `sizes` as for `read_module`."""
    units = []
    faults: dict[str, Any] = {}
    interfaces: dict[str, Interface] = {}
    refusing: dict[str, Clients] = {}
    room = MAX_INTERFACES_BYTES
    repeated = _Repeated(texts)
    for folder in folders:
        files = {path: texts[path] for path in folder.files if path in texts}
        there = {path: sizes[path] for path in folder.files if path in sizes}
        unit = read_unit(files, there, folder.left, repeated)
        _require_for_imports(folder, unit.parts)
        diagnostics = unit.diagnostics
        if folder.left:
            more = len(folder.left) - 1
            message = f"not read, and {more} more of this folder: at most {MAX_FILES} module files of an archive are"
            diagnostics = [Diagnostic(folder.left[0], 1, 1, message), *diagnostics]
        units.append(_document(folder, unit.parts, diagnostics))
        if unit.faults:
            faults[folder.path] = [fault.as_dict() for fault in unit.faults[:MAX_FAULTS]]
        if unit.interface and (room := room - _size(unit.interface)) >= 0:
            interfaces[folder.path] = unit.interface
        if unit.refusing:
            refusing[folder.path] = unit.refusing
    _truncate(units)
    return {"units": units, "faults": faults, "interfaces": interfaces, "refusing": refusing}


def _require_for_imports(folder: Folder, parts: Document) -> None:
    """Clients took `import` blocks in the root of a configuration only, and calls load these folders."""
    if folder.kind in ("root", "submodule") and (imports := parts.get("imports")):
        why = "import blocks in a module that is called"
        row = {"text": required(since(None, 16)), "why": why, "file": imports[0]["file"], "line": imports[0]["line"]}
        if not any(known["text"] == row["text"] for known in parts.get("requires", ())):
            parts["requires"] = [*parts.get("requires", ()), row]


def joined(folders: Iterable[Folder], parts: Sequence[Document]) -> Document:
    """The document of the module whose folders these are, each of which is in one of the parts."""
    found = {unit["path"]: unit for part in parts for unit in part["units"]}
    faults, interfaces, refusing = (
        {path: one for part in parts for path, one in part[name].items()}
        for name in ("faults", "interfaces", "refusing")
    )
    judge_archive(found, interfaces, refusing, faults)
    units = [found[folder.path] for folder in folders]
    if len(parts) > 1:  # each of them fits
        _truncate(units)
    for unit in units:
        if lost := unit.pop(_LOST, 0):
            message = f"{lost} entries of this folder are not shown, because the module has too many declarations"
            unit["warnings"].append(Diagnostic(unit["path"] or ".", 1, 1, message).as_dict())
    return {"units": units, "faults": {unit["path"]: faults[unit["path"]] for unit in units if unit["path"] in faults}}


def empty_unit(folder: Folder, diagnostics: list[Diagnostic]) -> Document:
    return _document(folder, {name: [] for name in LISTS}, diagnostics)


def _read_file(path: str, data: bytes | None, size: int) -> Reading:
    """One module file as blocks and diagnostics. `size` is its size in the archive: a text that was cut is not read."""
    data = data or b""
    is_marked = data.startswith(_BOM)
    file = File(path, data.removeprefix(_BOM))
    try:
        if size > MAX_FILE_BYTES:
            raise Unreadable(0, f"it has {size} bytes, at most {MAX_FILE_BYTES} are read")
        if len(data) < size:
            raise Unreadable(0, f"only {len(data)} of its {size} bytes were available")
        at = file.text.find(b"\0")
        if at >= 0:
            raise NotText(at, "it contains a NUL byte, so it is not text")
        try:
            file.text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotText(error.start, "it is not UTF-8") from None
        reading = read_json_syntax(file) if path.endswith(".json") else read_native(file)
        if is_marked and path.endswith(".json"):  # clients accept it in the native syntax
            reading.fault = file.diagnostic(0, "found a byte order mark, expected none in JSON")
        reading.judged = judged(path, reading, is_override=is_override(path))
    except Unreadable as problem:
        note = file.diagnostic(problem.offset, f"not read: {problem}")
        return Reading(diagnostics=[note], is_complete=False, fault=_stray(file, problem))
    except MemoryError:
        raise  # the child reports it
    except Exception:  # noqa: BLE001  # a defect of the readers must not cost a publish
        return Reading(diagnostics=[Diagnostic(path, 1, 1, INTERNAL_ERROR)], is_complete=False)
    return reading


class _Repeated:
    """Reads what several folders contain once: generated submodules have the same `variables.tf`, each of them."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        count = Counter((_last(path), text) for path, text in texts.items())
        self._texts = {key for key, times in count.items() if times > 1}
        self._readings: dict[tuple[str, bytes, int], Reading] = {}

    def read(self, path: str, data: bytes | None, size: int) -> Reading:
        if data is None or (_last(path), data) not in self._texts:
            return _read_file(path, data, size)
        key = (_last(path), data, size)
        if key not in self._readings:
            self._readings[key] = _read_file(path, data, size)
        return _moved(self._readings[key], path)


def _moved(reading: Reading, path: str) -> Reading:
    """Return the reading of a file as that of another one with the same name and text."""

    def place(one: Diagnostic) -> Diagnostic:
        return replace(one, file=path)

    def block(one: Block) -> Block:
        return replace(one, file=path, blocks=tuple(map(block, one.blocks)))

    def finding(one: Finding) -> Finding:
        return replace(one, diagnostic=place(one.diagnostic))

    return Reading(
        blocks=list(map(block, reading.blocks)),
        diagnostics=list(map(place, reading.diagnostics)),
        is_complete=reading.is_complete,
        fault=reading.fault and place(reading.fault),
        judged=[
            replace(
                one,
                findings=list(map(finding, one.findings)),
                unique=[(name, finding(found)) for name, found in one.unique],
                needs=[replace(need, finding=finding(need.finding)) for need in one.needs],
                provider_uses=[replace(use, finding=finding(use.finding)) for use in one.provider_uses],
            )
            for one in reading.judged
        ],
    )


def _stray(file: File, problem: Unreadable) -> Diagnostic | None:
    """Clients read a file with such bytes in comments, and JSON with them in strings."""
    if not isinstance(problem, NotText) or file.path.endswith(".json"):
        return None
    try:
        at = stray_byte(file)
    except Unreadable:
        return None
    return None if at is None else file.diagnostic(at, "found a byte that is not text, expected UTF-8")


def _ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return sorted(diagnostics, key=lambda one: (one.file, one.line, one.column))


def _document(folder: Folder, parts: Document, diagnostics: list[Diagnostic]) -> Document:
    shown = [one.as_dict() for one in diagnostics[:MAX_DIAGNOSTICS]]
    if len(diagnostics) > MAX_DIAGNOSTICS:
        shown[-1] = Diagnostic(diagnostics[-1].file, 1, 1, "and more warnings").as_dict()
    head = {"path": folder.path, "kind": folder.kind, "name": folder.name, "readme": "", "summary": ""}
    return head | parts | {"warnings": shown}


def _truncate(units: list[Document]) -> None:
    """Keep the first entries up to MAX_DOCUMENT_BYTES; each unit that loses some counts them in `_LOST`."""
    room = MAX_DOCUMENT_BYTES
    if _size(units) <= room:
        return
    for unit in units:
        lost = 0
        for name in (*LISTS, *RARE_LISTS, "warnings"):
            if name not in unit:
                continue
            rows, unit[name] = unit[name], []
            for row in rows:
                room -= _size(row) + len(", ")
                if room < 0:
                    break
                unit[name].append(row)
            lost += len(rows) - len(unit[name])
        if lost:
            unit[_LOST] = unit.get(_LOST, 0) + lost


def _size(document: Any) -> int:
    return len(json.dumps(document, ensure_ascii=False).encode("utf-8"))
