"""What of a folder's files stops every client that loads it. A false alarm is worse than a miss: only what is sure."""

from collections.abc import Mapping, Sequence

from apps.modules.inspection import folders
from apps.modules.inspection.blocks import Note
from apps.modules.inspection.overrides import Clash
from apps.modules.inspection.reading import Reading


def faults_of(readings: Mapping[str, Reading], clashes: Sequence[Clash], *, is_whole: bool) -> list[Note]:
    """By file and line. `readings` by path, as OpenTofu takes the files; `is_whole`: whether they are all of them.

    Terraform passes over `.tofu` files, and reads those `.tf` files that a `.tofu` file hides from OpenTofu. So in a
    folder with both, only what lies in `.tf` files stops either of them.
    """
    read_by_all = {path for path in readings if not folders.is_tofu(path)} or set(readings)
    is_one_view = len(read_by_all) == len(readings)
    is_whole = is_whole and is_one_view and all(reading.is_complete for reading in readings.values())
    found = [reading.fault for path, reading in readings.items() if reading.fault and path in read_by_all]
    found += [
        clash.note
        for clash in [*clashes, *_local_clashes(readings)]
        if clash.note.file in read_by_all and (clash.other in read_by_all or (not clash.other and is_whole))
    ]
    return sorted(found, key=lambda note: (note.file, note.line, note.column))


def _local_clashes(readings: Mapping[str, Reading]) -> list[Clash]:
    first: dict[str, Note] = {}
    clashes = []
    for path, reading in readings.items():
        if folders.is_override(path):
            continue
        for name, note in reading.locals:
            at = first.setdefault(name, note)
            if at is not note:
                message = f"{note.message} is set in {at.file}, line {at.line}, already"
                clashes.append(Clash(Note(note.file, note.line, note.column, message), at.file))
    return clashes
