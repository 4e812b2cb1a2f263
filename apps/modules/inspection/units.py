"""A whole archive's module files as the document that a module's page shows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.lib.archives.layouts import is_module_file
from apps.modules.inspection import declarations, folders, loading
from apps.modules.inspection.blocks import Note
from apps.modules.inspection.caps import MOST_DOCUMENT_BYTES, MOST_FAULTS, MOST_FILES, MOST_NOTES
from apps.modules.inspection.files import read_file
from apps.modules.inspection.folders import Folder
from apps.modules.inspection.overrides import declared
from apps.modules.inspection.reading import Reading
from apps.modules.inspection.shedding import LISTS, within_bounds

Document = dict[str, Any]
_GROWTH = 32  # bytes of a document for each byte of `output x {}`


@dataclass(frozen=True, slots=True)
class Unit:
    """What one folder declares; `parts` are the keys of a unit that are lists; `faults` stop every client."""

    parts: Document
    notes: list[Note]
    faults: list[Note]


def read_unit(files: Mapping[str, bytes], sizes: Mapping[str, int] | None = None, left: Iterable[str] = ()) -> Unit:
    """The module files of one folder. `sizes` as for `read_module`; `left`: those that are too many. Raises nothing."""
    wanted = sorted(path for path in {*files, *(sizes or {})} if is_module_file(path.rpartition("/")[2]))
    readings = {path: read_file(path, files.get(path), _size(path, files, sizes)) for path in wanted}
    primary = [path for path in wanted if not folders.is_override(path)]
    overriding = [path for path in wanted if folders.is_override(path)]
    found = declared(
        [block for path in primary for block in readings[path].blocks],
        [readings[path].blocks for path in overriding],
    )
    faults = loading.faults_of({path: readings[path] for path in wanted}, found.clashes, is_whole=not left)
    is_sure = all(readings[path].is_complete for path in overriding) and not any(map(folders.is_override, left))
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
    return Unit(parts, _ordered(readings, found.notes), faults)


def read_module(texts: Mapping[str, bytes], sizes: Mapping[str, int]) -> Document:
    """`{"units": […], "faults": {path: [note]}}` for the texts by their paths in the archive, whatever is in them.

    `sizes` are those of the files in the archive: a text that is shorter was cut, one that is missing was not read,
    and neither is understood by halves.
    """
    units = []
    faults = {}
    room = MOST_FILES
    for folder in folders.folders_of({*texts, *sizes}):
        read, left = folder.files[:room], folder.files[room:]
        room -= len(read)
        document, found = _unit(folder, read, left, texts, sizes)
        units.append(document)
        if found:
            faults[folder.path] = [note.as_dict() for note in found[:MOST_FAULTS]]
    document = {"units": units, "faults": faults}
    # So little text makes no long document, and measuring one takes time.
    return document if sum(map(len, texts.values())) < MOST_DOCUMENT_BYTES // _GROWTH else within_bounds(document)


def empty_unit(folder: Folder, notes: list[Note]) -> Document:
    """A unit of which nothing is known."""
    return _document(folder, {name: [] for name in LISTS}, notes)


def _unit(
    folder: Folder, read: tuple[str, ...], left: tuple[str, ...], texts: Mapping[str, bytes], sizes: Mapping[str, int]
) -> tuple[Document, list[Note]]:
    files = {path: texts[path] for path in read if path in texts}
    unit = read_unit(files, {path: sizes.get(path, len(files.get(path, b""))) for path in read}, left)
    notes = unit.notes
    if left:
        words = (
            f"not read, and {len(left) - 1} more of this folder: at most {MOST_FILES} module files of an archive are"
        )
        notes = [Note(left[0], 1, 1, words), *notes]
    return _document(folder, unit.parts, notes), unit.faults


def _document(folder: Folder, parts: Document, notes: list[Note]) -> Document:
    shown = [note.as_dict() for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        shown[-1] = Note(notes[-1].file, 1, 1, "and more warnings than are shown").as_dict()
    head = {"path": folder.path, "kind": folder.kind, "name": folder.name, "readme": "", "summary": ""}
    return head | parts | {"warnings": shown}


def _size(path: str, files: Mapping[str, bytes], sizes: Mapping[str, int] | None) -> int:
    return (sizes or {}).get(path, len(files.get(path, b"")))


def _ordered(readings: Mapping[str, Reading], others: list[Note]) -> list[Note]:
    notes = [note for reading in readings.values() for note in reading.notes] + others
    return sorted(notes, key=lambda note: (note.file, note.line, note.column))
