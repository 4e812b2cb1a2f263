"""One module file as blocks and diagnostics."""

from apps.modules.inspection import folders
from apps.modules.inspection.blocks import Diagnostic, Reading
from apps.modules.inspection.json_syntax import read_json_syntax
from apps.modules.inspection.limits import MAX_FILE_BYTES
from apps.modules.inspection.native import read_native
from apps.modules.inspection.source import File, Unreadable

INTERNAL_ERROR = "not read: Larder failed to read this file"
_BOM = b"\xef\xbb\xbf"


def read_file(path: str, data: bytes | None, size: int) -> Reading:
    """Never raises for what is in the file. `size` is its size in the archive: a text that was cut is not read."""
    data = data or b""
    file = File(path, data.removeprefix(_BOM))
    try:
        if size > MAX_FILE_BYTES:
            raise Unreadable(0, f"it has {size} bytes, at most {MAX_FILE_BYTES} are read")
        if len(data) < size:
            raise Unreadable(0, f"only {len(data)} of its {size} bytes were available")
        _refuse_binary(file.text)
        return read_json_syntax(file) if folders.is_json(path) else read_native(file)
    except Unreadable as problem:
        return Reading(diagnostics=[file.diagnostic(problem.offset, f"not read: {problem}")], is_complete=False)
    except MemoryError:
        raise  # the child reports it
    except Exception:  # noqa: BLE001  # a defect of the readers must not cost a publish
        return Reading(diagnostics=[Diagnostic(path, 1, 1, INTERNAL_ERROR)], is_complete=False)


def _refuse_binary(text: bytes) -> None:
    at = text.find(b"\0")
    if at >= 0:
        raise Unreadable(at, "it contains a NUL byte, so it is not text")
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(error.start, "it is not UTF-8") from None
