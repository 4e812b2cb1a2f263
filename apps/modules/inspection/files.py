"""One file, whatever is in it, as blocks and warnings."""

from apps.modules.inspection import folders
from apps.modules.inspection.blocks import Note
from apps.modules.inspection.caps import LeftOut, admitted
from apps.modules.inspection.json_syntax import read_json_syntax
from apps.modules.inspection.layout import TooDeep
from apps.modules.inspection.native import read_native
from apps.modules.inspection.reading import Reading
from apps.modules.inspection.syntax import File

NET = "not read: Larder could not make sense of it"


def read_file(path: str, data: bytes | None, size: int) -> Reading:
    """Never raises for what is in the file."""
    try:
        text = admitted(path, data, size)
    except LeftOut as refusal:
        return Reading(notes=[refusal.note], is_complete=False)
    try:
        return read_json_syntax(path, text) if folders.is_json(path) else read_native(path, text)
    except TooDeep as fault:
        return Reading(notes=[File(path, text).note(fault.offset, f"not read: {fault}")], is_complete=False)
    except MemoryError:
        raise  # the child says so
    except Exception:  # noqa: BLE001  # the net under the readers: a defect of ours must not cost a publish
        return Reading(notes=[Note(path, 1, 1, NET)], is_complete=False)
