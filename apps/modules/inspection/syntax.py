"""Pieces of a file in native syntax as trees. A tree with an error anywhere is never handed out."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import tree_sitter_hcl
from tree_sitter import Language, Node, Parser

from apps.modules.inspection.blocks import Note


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

    def line(self, offset: int) -> int:
        return bisect_right(self._lines, offset)

    def column(self, offset: int) -> int:
        """In characters."""
        return len(self.text[self._lines[self.line(offset) - 1] : offset].decode("utf-8", "replace")) + 1

    def indentation(self, offset: int) -> str:
        """The blanks at the start of the line that holds the offset."""
        line = self.text[self._lines[self.line(offset) - 1] : offset]
        return line[: len(line) - len(line.lstrip(b" \t"))].decode("ascii")

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
        return Parsed(
            piece, error=start + min(node.start_byte for node in within(root) if node.is_error | node.is_missing)
        )
    return Parsed(piece, tuple(node for body in root.children for node in _statements(body)))


def statements(node: Node) -> list[Node]:
    """The attributes and blocks in a block."""
    return [statement for body in node.children if body.type == "body" for statement in _statements(body)]


def within(node: Node) -> Iterator[Node]:
    """The node and all below it, without recursion: uploads choose how deep it gets."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(found.children))


def _statements(body: Node) -> list[Node]:
    return [node for node in body.children if node.type in ("attribute", "block")]


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_hcl.language()))


def warm_up() -> None:
    """Loads the grammar's library, which cannot be opened later on in a confined process."""
    _parser().parse(b"")
