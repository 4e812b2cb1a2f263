"""The native syntax (`.tf`, `.tofu`) as blocks.

Where the whole file parses, its tree is used. Where it does not, each of its statements is parsed by itself; of one
that does not parse, its own statements; so a fault costs no more than the statement that has it. What an error leaves
of a tree is never used: tree-sitter guesses, and a guess would be shown as what the author wrote.
"""

import re
from collections.abc import Iterable, Mapping

from tree_sitter import Node

from apps.modules.inspection import literals
from apps.modules.inspection.blocks import Block, Note, Value
from apps.modules.inspection.caps import MOST_VALUE_BYTES
from apps.modules.inspection.damage import Wreck, header_of, is_wanted, may_have_swallowed
from apps.modules.inspection.layout import Layout, Statement, lay_out
from apps.modules.inspection.reading import Reading
from apps.modules.inspection.schema import SCHEMA, Shape
from apps.modules.inspection.syntax import File, Parsed, Piece, parse, statements
from apps.modules.inspection.values import value_of

CANNOT = "this cannot be read"
MOST_DAMAGES = 50  # in one file; who has more is not helped by the rest
# Valid HCL that the grammar does not know: an exponent behind a whole number, as in 1e5.
_UNKNOWN_TO_GRAMMAR = re.compile(rb"\d[eE][+-]?\d")


def read_native(path: str, text: bytes) -> Reading:
    """The file's blocks, and what is wrong with it. Raises TooDeep."""
    return _Reader(File(path, text), lay_out(text)).read()


class _Reader:
    def __init__(self, file: File, layout: Layout) -> None:
        self.file = file
        self.layout = layout
        self.reading = Reading()
        self.damages = 0
        self.is_whole = False

    def read(self) -> Reading:
        parsed = parse(self.file) if self.layout.is_sound else None
        self.is_whole = parsed is not None and self.is_sound(parsed, level=0)
        self.reading.fault = self.fault(parsed)
        if parsed and self.is_whole:
            blocks = [self.block(parsed.piece, node) for node in parsed.statements if node.type == "block"]
        else:
            blocks = [self.alone(statement) for statement in self.layout.statements]
            if parsed and parsed.error is not None and not self.reading.notes:
                self.note(parsed.error, CANNOT)  # in a block that nobody asks for
        self.reading.blocks = [block for block in blocks if block]
        return self.reading

    def fault(self, parsed: Parsed | None) -> Note | None:
        """Where clients stop reading. Only what is sure: all of 6,687 real files that HCL's own parser reads pass."""
        if parsed is None:
            broken = next(statement for statement in self.layout.statements if statement.fault is not None)
            return self.file.note(broken.fault or 0, broken.message)
        if parsed.error is not None:
            is_sure = not _UNKNOWN_TO_GRAMMAR.search(self.file.text)
            return self.file.note(parsed.error, "invalid syntax") if is_sure else None
        at = self.misplaced(parsed.piece, parsed.statements, level=0)
        return None if at is None else self.file.note(at, "a newline is missing, or one too many")

    def misplaced(self, piece: Piece, nodes: Iterable[Node], level: int) -> int | None:
        """The first statement, of all levels that the layout knows, which does not end where its line does."""
        ends = self.layout.ends[level]
        for node in nodes:
            if ends.get(piece.start(node)) != piece.end(node):
                return piece.start(node)
            if node.type == "block" and level + 1 < len(self.layout.ends):
                at = self.misplaced(piece, statements(node.children), level + 1)
                if at is not None:
                    return at
        return None

    def is_sound(self, parsed: Parsed, level: int) -> bool:
        return parsed.error is None and self.agrees(parsed.piece, parsed.statements, level)

    def agrees(self, piece: Piece, nodes: Iterable[Node], level: int) -> bool:
        """Whether each statement of the tree reaches exactly as far as its lines do."""
        ends = self.layout.ends[level]
        return all(ends.get(piece.start(node)) == piece.end(node) for node in nodes)

    def alone(self, statement: Statement) -> Block | None:
        """A statement of a file that does not parse as a whole."""
        if not is_wanted(self.file.text, statement):
            if statement.fault is not None:
                self.blame(statement, CANNOT)
            return None
        if statement.fault is None:
            parsed = parse(self.file, statement.start, statement.end)
            if self.is_sound(parsed, level=0) and len(parsed.statements) == 1:
                (node,) = parsed.statements
                return self.block(parsed.piece, node) if node.type == "block" else None
        return self.damaged(statement)

    def block(self, piece: Piece, node: Node) -> Block | None:
        """A block of a sound tree; None where nobody asks for its kind."""
        parts = node.children
        kind = piece.source(parts[0])
        shape = SCHEMA.get(kind)
        inside = statements(parts)
        if kind == "locals":
            self.reading.locals += [_local(piece, node) for node in inside if node.type == "attribute"]
        if shape is None:
            return None
        if not self.agrees(piece, inside, level=1):
            return self.damaged(Statement(piece.start(node), piece.end(node)))
        return self.built(piece, parts, inside, shape, level=1)

    def built(self, piece: Piece, parts: list[Node], inside: list[Node], shape: Shape, level: int) -> Block | None:
        """`parts`: the block's own nodes; `inside`: its statements, whose level it is."""
        kind, *labels = (part for part in parts if part.type in ("identifier", "string_lit"))
        names = tuple(_label(piece, label) for label in labels)
        at = piece.start(kind)
        if len(names) != shape.labels or "" in names:
            plural = "label" if shape.labels == 1 else "labels"
            self.note(at, f"not read: this block has {shape.labels} {plural}, each a plain name")
            self.reading.is_complete = False
            return None
        attributes: dict[str, Value] = {}
        blocks = []
        for statement in inside:
            if statement.type == "attribute":
                self.keep(attributes, shape, piece, statement)
            elif shape.blocks:
                blocks.append(self.nested(shape, piece, statement, level + 1))
        return self.made(piece.source(kind), names, at, attributes, blocks)

    def nested(self, shape: Shape, piece: Piece, node: Node, level: int) -> Block | None:
        parts = node.children
        inner = shape.blocks.get(piece.source(parts[0]))
        if inner is None:
            return None
        inside = statements(parts)
        if not self.agrees(piece, inside, level):
            self.note(piece.start(node), "not read: it has more than one argument on a line")
            return None
        return self.built(piece, parts, inside, inner, level)

    def made(
        self,
        kind: str,
        labels: tuple[str, ...],
        at: int,
        attributes: Mapping[str, Value],
        blocks: Iterable[Block | None],
    ) -> Block:
        nested = tuple(block for block in blocks if block)
        return Block(kind, labels, self.file.path, self.file.line(at), self.file.column(at), attributes, nested)

    def keep(self, attributes: dict[str, Value], shape: Shape, piece: Piece, node: Node) -> None:
        parts = node.children
        name = piece.source(parts[0])
        if not shape.keeps(name):
            return
        at = piece.start(node)
        fault = ""
        if name in attributes:
            fault = f"{name} is set a second time, so which one holds is unknown"
            if self.is_whole:
                self.reading.fault = self.reading.fault or self.file.note(at, f"{name} is set a second time")
        elif piece.end(node) - at > MOST_VALUE_BYTES:
            fault = f"not shown: this value is longer than {MOST_VALUE_BYTES} bytes"
        elif not self.is_whole and may_have_swallowed(self.file.text, at, piece.end(node)):
            fault = "not shown: in a file that is damaged, a text with blocks in it may be the damage"
        if fault:
            self.note(at, fault)
            attributes[name] = Value(self.file.line(at), known=False)
        else:
            attributes[name] = value_of(piece, parts[-1], name, with_entries=shape.every_attribute)

    def damaged(self, statement: Statement) -> Block | None:
        """What can be known of a block with a fault in it: its header, and each of its attributes that is sound."""
        header = header_of(self.file.text, statement)
        self.damages += 1
        if header is None or self.damages > MOST_DAMAGES:
            self.blame(statement, CANNOT)
            return None
        wreck = Wreck(self.file, self.layout, statement, header.shape)
        attributes: dict[str, Value] = {}
        blocks: list[Block | None] = []
        found = len(self.reading.notes)
        before = statement.start
        for start, end in wreck.sound_statements():
            parsed = parse(self.file, start, end)
            if not self.is_sound(parsed, level=1) or len(parsed.statements) != 1:
                self.note(start if parsed.error is None else parsed.error, CANNOT)
                wreck.suspect(attributes, before, start, end)
            elif parsed.statements[0].type == "attribute":
                self.keep(attributes, header.shape, parsed.piece, parsed.statements[0])
            else:
                blocks.append(self.nested(header.shape, parsed.piece, parsed.statements[0], level=2))
            before = start
        if statement.fault is not None:
            wreck.suspect(attributes, statement.start, statement.start, wreck.reach())
        if statement.fault is not None or len(self.reading.notes) == found:
            self.blame(statement, "not all of this block can be read")
        return self.made(header.kind, header.labels, statement.start, attributes, blocks)

    def blame(self, statement: Statement, message: str) -> None:
        """Points at the fault where it is known, else at the statement."""
        if statement.fault is None:
            self.note(statement.start, message)
        else:
            self.note(statement.fault, f"{message}: {statement.message}")
        self.reading.is_complete = False

    def note(self, offset: int, message: str) -> None:
        self.reading.warn(self.file.note(offset, message))


def _local(piece: Piece, node: Node) -> tuple[str, Note]:
    name = piece.source(node.children[0])
    return name, piece.file.note(piece.start(node), f"local.{name}")


def _label(piece: Piece, node: Node) -> str:
    """Empty where it is no plain name."""
    source = piece.source(node)
    if node.type == "identifier":
        return source
    try:
        return "" if literals.begins_template(source) else literals.quoted(source[1:-1])
    except literals.Undecodable:
        return ""
