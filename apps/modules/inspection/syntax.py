"""Pieces of a file in native syntax as trees. A tree with an error anywhere is never handed out."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import tree_sitter_hcl
from tree_sitter import Language, Node, Parser

from apps.modules.inspection.blocks import Note

_BLANKS = re.compile(rb"[ \t]*")


@dataclass(frozen=True)
class File:
    """A file's bytes, and where its lines begin."""

    path: str
    text: bytes

    @cached_property
    def _lines(self) -> list[int]:
        starts, at = [0], self.text.find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find(b"\n", at + 1)
        return starts

    @cached_property
    def _is_ascii(self) -> bool:
        return self.text.isascii()

    def line(self, offset: int) -> int:
        return bisect_right(self._lines, offset)

    def column(self, offset: int) -> int:
        """In characters."""
        start = self._lines[self.line(offset) - 1]
        # A document in JSON may be one long line with thousands of blocks.
        return 1 + (offset - start if self._is_ascii else len(self.text[start:offset].decode("utf-8", "replace")))

    def indentation(self, offset: int) -> str:
        """The blanks at the start of the line that holds the offset."""
        blanks = _BLANKS.match(self.text, self._lines[self.line(offset) - 1], offset)
        return blanks[0].decode("ascii") if blanks else ""

    def note(self, offset: int, message: str) -> Note:
        return Note(self.path, self.line(offset), self.column(offset), message)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file that was parsed by itself: offsets of its nodes count from `base`."""

    file: File
    base: int

    def start(self, node: Node) -> int:
        return self.base + node.start_byte

    def end(self, node: Node) -> int:
        return self.base + node.end_byte

    def source(self, node: Node) -> str:
        return self.file.text[self.start(node) : self.end(node)].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The statements of a piece; none where `error` is the offset of what does not parse."""

    piece: Piece
    statements: tuple[Node, ...] = ()
    error: int | None = None


def parse(file: File, start: int = 0, end: int | None = None) -> Parsed:
    root = _parser().parse(file.text[start:end]).root_node
    piece = Piece(file, start)
    if root.has_error:
        return Parsed(piece, error=start + _first_error(root))
    return Parsed(piece, tuple(node for body in root.children for node in _statements(body)))


def statements(parts: list[Node]) -> list[Node]:
    """The attributes and blocks in a block, which has these parts."""
    return [statement for body in parts if body.type == "body" for statement in _statements(body)]


def within(node: Node) -> Iterator[Node]:
    """The node and all below it, without recursion: uploads choose how deep it gets."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(found.children))


def _first_error(root: Node) -> int:
    """The offset of the first node that the grammar had to skip or make up."""
    found, waiting = root.end_byte, [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            found = min(found, node.start_byte)
        else:
            waiting += [child for child in node.children if child.has_error and child.start_byte < found]
    return found


def _statements(body: Node) -> list[Node]:
    return [node for node in body.children if node.type in ("attribute", "block")]


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_hcl.language()))


def warm_up() -> None:
    """Loads the grammar's library, which cannot be opened later on in a confined process."""
    _parser().parse(b"")
