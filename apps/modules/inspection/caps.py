"""What reading one module may cost, decided before anything is parsed."""

from apps.modules.inspection.blocks import Note

MOST_FILES = 4_000  # in the whole archive
MOST_FILE_BYTES = 1024 * 1024
MOST_VALUE_BYTES = 64 * 1024
MOST_DEPTH = 200  # brackets, templates and strings inside each other
MOST_NOTES = 100  # in one unit
MOST_FAULTS = 5  # in one unit: who mends them finds the rest
MOST_DOCUMENT_BYTES = 4 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"


class LeftOut(Exception):
    """A file of which nothing is read."""

    def __init__(self, note: Note) -> None:
        super().__init__(note.message)
        self.note = note


def admitted(path: str, data: bytes | None, size: int) -> bytes:
    """The text without its byte order mark. Raises LeftOut."""
    if size > MOST_FILE_BYTES:
        raise LeftOut(Note(path, 1, 1, f"not read: it has {size} bytes, at most {MOST_FILE_BYTES} are read"))
    if data is None or len(data) < size:
        raise LeftOut(Note(path, 1, 1, f"not read: only {len(data or b'')} of its {size} bytes were at hand"))
    text = data.removeprefix(_BOM)
    at = text.find(b"\0")
    if at >= 0:
        raise LeftOut(_at(path, text, at, "not read: it holds a NUL byte, so it is no text"))
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LeftOut(_at(path, text, error.start, "not read: it is not UTF-8")) from None
    return text


def _at(path: str, text: bytes, offset: int, message: str) -> Note:
    start = text.rfind(b"\n", 0, offset) + 1
    column = len(text[start:offset].decode("utf-8", "replace")) + 1
    return Note(path, text.count(b"\n", 0, offset) + 1, column, message)
