"""A file, its places, and what is wrong there."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 200  # brackets inside each other
NOT_LITERAL: Final[Any] = object()  # no JSON value, as None is one
_BLANKS = re.compile(rb"[ \t]*")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem and its place; lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def as_dict(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "column": self.column, "message": self.message}


class Unreadable(Exception):
    """Nothing of the file can be read; `offset` is where the problem is."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True)
class File:
    """A file, or the part of one that begins after so many lines."""

    path: str
    text: bytes
    lines_before: int = 0

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(rb"\n", self.text))]

    @cached_property
    def _is_ascii(self) -> bool:
        return self.text.isascii()

    def line(self, offset: int) -> int:
        return self.lines_before + bisect_right(self._lines, offset)

    def _line_start(self, offset: int) -> int:
        return self._lines[bisect_right(self._lines, offset) - 1]

    def column(self, offset: int) -> int:
        """In characters."""
        start = self._line_start(offset)
        # A JSON file may be one long line with thousands of blocks.
        return 1 + (offset - start if self._is_ascii else len(self.text[start:offset].decode("utf-8", "replace")))

    def has_line_end(self, start: int, end: int) -> bool:
        return self.text.find(b"\n", start, end) >= 0

    def spans_lines(self, node: "Node") -> bool:
        return self.text.find(b"\n", node.start_byte, node.end_byte) >= 0

    def indentation(self, offset: int) -> str:
        """The blanks at the start of the line that holds the offset."""
        blanks = _BLANKS.match(self.text, self._line_start(offset), offset)
        return blanks[0].decode("ascii") if blanks else ""

    def source(self, node: "Node") -> str:
        return self.text[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def diagnostic(self, offset: int, message: str) -> Diagnostic:
        return Diagnostic(self.path, self.line(offset), self.column(offset), message)
