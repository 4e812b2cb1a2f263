"""The native syntax (`.tf`, `.tofu`) as blocks.

A damaged file costs its damaged blocks: what tree-sitter makes of them is a guess, and no page shows a guess.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from tree_sitter import Node

from apps.lib.hcl import literals, tree
from apps.lib.hcl.files import NOT_LITERAL, Diagnostic, File
from apps.lib.hcl.values import expressions_in, literal_or_none, members, unwrapped
from apps.modules.inspection.blocks import (
    EXPRESSIONS,
    LOCAL,
    MAX_VALUE_BYTES,
    REFERENCES,
    REPETITIONS,
    Block,
    Reading,
    Shape,
    Value,
    schema_of,
)
from apps.modules.inspection.repetitions import repetition_in

_REFERENCE = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*")
_PLAIN_HEREDOC = re.compile(r"<<[^\W\d][\w-]*\r?\n")


def read_native(file: File) -> Reading:
    """Raises Unreadable."""
    whole = tree.parse(file)
    faults = tree.faults_of(file, whole)
    reading = Reading(is_complete=not faults)
    if not faults:
        _Reader(file, reading).read(whole, faults)
        return reading
    # The tree of a damaged file loses blocks behind the damage: read each piece as a file of its own.
    for piece in tree.pieces(file):
        root = tree.parse(piece)
        _Reader(piece, reading).read(root, tree.faults_of(piece, root))
    return reading


class _Reader:
    def __init__(self, file: File, reading: Reading) -> None:
        self.file = file
        self.reading = reading

    def read(self, root: Node, faults: Sequence[tree.Fault]) -> None:
        is_damaged = False
        sound: list[Node] = []
        self.reading.sound.append((self.file, sound))
        for node in tree.top_level(root):
            is_block = node.type == "block"
            at = bisect_left(faults, (node.start_byte, ""))
            fault = faults[at] if at < len(faults) and faults[at][0] <= node.end_byte else None
            # The loose pieces behind a fault belong to the block that it broke.
            if fault and (is_block or not is_damaged):
                self.damage(node, *fault)
            elif is_block:
                self.top_level(node)
                sound.append(node)
            elif node.type == "attribute" and not faults:
                sound.append(node)
            is_damaged = fault is not None or (is_damaged and not is_block)

    def top_level(self, node: Node) -> None:
        if self.file.source(node.children[0]) == "locals":
            self.reading.blocks += [self.local(one) for one in tree.statements(node)]
        elif block := self.block(node, schema_of(self.file.path)):
            self.reading.blocks.append(block)

    def damage(self, node: Node, offset: int, message: str) -> None:
        offset = node.start_byte if message == tree.UNCLOSED else offset
        self.reading.is_complete = False
        self.reading.fault = self.reading.fault or self.file.diagnostic(offset, message)
        self.reading.warn(self.file.diagnostic(offset, f"{message}; the block is left out"))

    def block(self, node: Node, shapes: Mapping[str, Shape]) -> Block | None:
        """None for a kind that has no shape."""
        kind = self.file.source(node.children[0])
        shape = shapes.get(kind)
        if shape is None:
            return None
        labels = tuple(self.label(part) for part in node.children[1:] if part.type in ("identifier", "string_lit"))
        if len(labels) != shape.labels or "" in labels:
            plural = "label" if shape.labels == 1 else "labels"
            self.warn(node, f"not read: this block has {shape.labels} {plural}, each a plain name")
            self.reading.is_complete = False
            return None
        attributes: dict[str, Value] = {}
        inner = []
        for statement in tree.statements(node):
            if statement.type == "attribute":
                self.attribute(attributes, shape, statement)
            elif found := self.block(statement, shape.blocks):
                inner.append(found)
        line, column = self.file.line(node.start_byte), self.file.column(node.start_byte)
        return Block(kind, labels, self.file.path, line, column, attributes, tuple(inner))

    def attribute(self, attributes: dict[str, Value], shape: Shape, node: Node) -> None:
        """Add it to `attributes` where the shape asks for it."""
        name = self.file.source(node.children[0])
        if not shape.keeps(name):
            return
        problem = ""
        if name in attributes:
            problem = f"{name} is set twice, so it is unclear which one applies"
            self.reading.fault = self.reading.fault or self.diagnostic(node, f"{name} is set twice")
        elif name not in REPETITIONS and node.end_byte - node.start_byte > MAX_VALUE_BYTES:
            problem = f"not shown: this value is longer than {MAX_VALUE_BYTES} bytes"
        if problem:
            self.warn(node, problem)
        if name in REPETITIONS and not problem:
            attributes[name] = repetition_in(self.file, node.children[-1])
        elif problem:
            attributes[name] = Value(self.file.line(node.start_byte), known=False)
        else:
            attributes[name] = value_of(self.file, node.children[-1], name, with_entries=shape.every_attribute)

    def label(self, node: Node) -> str:
        """Empty unless it is a plain name."""
        source = self.file.source(node)
        if node.type == "identifier":
            return source
        try:
            return "" if literals.begins_template(source) else literals.quoted(source[1:-1])
        except literals.Undecodable:
            return ""

    def local(self, node: Node) -> Block:
        line, column = self.file.line(node.start_byte), self.file.column(node.start_byte)
        return Block(LOCAL, (self.file.source(node.children[0]),), self.file.path, line, column)

    def warn(self, node: Node, message: str) -> None:
        self.reading.warn(self.diagnostic(node, message))

    def diagnostic(self, node: Node, message: str) -> Diagnostic:
        return self.file.diagnostic(node.start_byte, message)


def value_of(file: File, expression: Node, name: str, *, with_entries: bool = False) -> Value:
    """The value of the attribute of that name, which is undamaged."""
    source = _shown(file, expression)
    references: tuple[str, ...] = ()
    if name in REFERENCES:
        # Each of a list, or the one that it is, without an index (`aws.by_region[each.key]`).
        first, parts = expression.children[0], [expression]
        if first.type == "collection_value" and first.children[0].type == "tuple":
            parts = expressions_in(first.children[0])
        matches = (_REFERENCE.match(file.source(part)) for part in parts if part.children[0].type == "variable_expr")
        references = tuple(match[0] for match in matches if match)
    return Value(
        line=file.line(expression.start_byte),
        source=source,
        literal=NOT_LITERAL if name in EXPRESSIONS else literal_or_none(file, expression),
        references=references,
        entries=_entries(file, expression) if with_entries else None,
        is_quoted=source.startswith('"') and unwrapped(expression).type == "template_expr",
    )


def _shown(file: File, expression: Node) -> str:
    source = file.source(expression)
    # The lines of a plain heredoc are its value: without their indentation it would be another.
    if "\n" not in source or _PLAIN_HEREDOC.search(source):
        return source.replace("\r\n", "\n")
    return literals.outdented(source, file.indentation(expression.start_byte))


def _entries(file: File, expression: Node) -> dict[str, Value] | None:
    """Of an object; None if a key must be evaluated."""
    inner = unwrapped(expression)
    if inner.type != "collection_value" or inner.children[0].type != "object":
        return None
    try:
        return {key: value_of(file, value, key) for key, value in members(file, inner.children[0])}
    except literals.Undecodable:
        return None
