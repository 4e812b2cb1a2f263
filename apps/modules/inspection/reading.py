"""Module files of both syntaxes as blocks, with what pages show of them: SHOWN names it, by entries of the language's
table. Everything else in a file only has to parse.

A damaged file costs its damaged blocks: what tree-sitter makes of them is a guess, and no page shows a guess. A damaged
file of JSON has none.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Mapping
from itertools import takewhile
from types import MappingProxyType

from tree_sitter import Node

from apps.lib.archives.layouts import MIGRATION_SUFFIX, QUERY_SUFFIXES
from apps.lib.hcl import tree
from apps.lib.hcl.bodies import KEY, ODD_KEY, Argument, Body, Content, Expression, Inner, name_of
from apps.lib.hcl.expressions import inner
from apps.lib.hcl.files import NOT_LITERAL, File, Unreadable
from apps.modules.inspection import json_syntax
from apps.modules.inspection.blocks import LOCAL, MAX_VALUE_BYTES, REPETITIONS, Block, Reading, Value
from apps.modules.inspection.language.json_bodies import JsonBody, JsonExpression
from apps.modules.inspection.language.schema import BLOCKS, MIGRATIONS, QUERIES, TOP_LEVEL, labels_of
from apps.modules.inspection.language.table import Nested

MAX_SHOWN_CHARACTERS = 200  # of a repetition
_EXPRESSIONS = frozenset({"type"})  # never a literal; in JSON a string that holds one
_REFERENCES = frozenset({"provider", "configuration_aliases"})
_PROVIDER = frozenset({"provider"})
_OF_RESOURCE = _PROVIDER | {*REPETITIONS}
_FLAGS = frozenset({"description", "sensitive", "ephemeral", "deprecated"})

SHOWN: Mapping[str, frozenset[str] | None] = {  # None: every attribute, and the entries of those that are objects
    "terraform": frozenset({"required_version"}),
    "required_providers": None,
    "variable": _FLAGS | {"type", "default", "nullable", "const"},
    "validation": frozenset({"error_message"}),
    "output": _FLAGS | {"type"},
    "resource": _OF_RESOURCE,
    "data": _OF_RESOURCE,
    "ephemeral": _OF_RESOURCE,
    "provider": frozenset({"version", "alias"}),
    "module": frozenset({"source", "version", *REPETITIONS}),
    "moved": frozenset({"from", "to"}),
    "check": frozenset(),
    "checked_data": _PROVIDER,
    "removed": frozenset({"from"}),
    "removed_lifecycle": frozenset({"destroy"}),
    "import": frozenset({"to"}),
    "action": _PROVIDER,
    "language": frozenset(),
    "compatible_with": None,
    "list": _PROVIDER,
    "from": frozenset(),
    "migrated": frozenset(),
}


def read_native(file: File) -> Reading:
    """Raises Unreadable."""
    whole = tree.parse(file)
    faults = tree.faults_of(file, whole)
    reading = Reading(is_complete=not faults)
    if not faults:
        _Reader(file, reading).native(whole, faults)
        return reading
    # The tree of a damaged file loses blocks behind the damage: read each piece as a file of its own.
    for piece in tree.pieces(file):
        root = tree.parse(piece)
        _Reader(piece, reading).native(root, tree.faults_of(piece, root))
    return reading


def read_json_syntax(file: File) -> Reading:
    text = file.text.decode("utf-8")
    # One byte for each character, so that offsets in characters are good for it.
    file = File(file.path, text.encode("ascii", "replace"))
    reading = Reading()
    try:
        _Reader(file, reading).json(json_syntax.read_json(text))
    except Unreadable as error:
        found = file.diagnostic(error.offset, f"not read: {error}")
        fault = None if json_syntax.is_lenient_json(text) else found
        return Reading(diagnostics=[found], is_complete=False, fault=fault)
    return reading


class _Reader:
    def __init__(self, file: File, reading: Reading) -> None:
        self.file = file
        self.reading = reading
        self.kinds = TOP_LEVEL
        if file.path.endswith(QUERY_SUFFIXES):
            self.kinds = QUERIES
        elif file.path.endswith(MIGRATION_SUFFIX):
            self.kinds = MIGRATIONS

    def native(self, root: Node, faults: list[tree.Fault]) -> None:
        is_damaged = False
        sound = Content()
        self.reading.sound.append((self.file, sound))
        for node in tree.top_level(root):
            is_block = node.type == "block"
            at = bisect_left(faults, (node.start_byte, ""))
            fault = faults[at] if at < len(faults) and faults[at][0] <= node.end_byte else None
            # The loose pieces behind a fault belong to the block that it broke.
            if fault and (is_block or not is_damaged):
                self.damage(node.start_byte, *fault)
            elif is_block:
                sound.blocks.append(inner(self.file, node))
                self.top_level(sound.blocks[-1])
            elif node.type == "attribute" and not faults:
                name = self.file.source(node.children[0])[:40]
                message = f"found an argument {name} outside of all blocks, expected a block"
                sound.problems.append((node.start_byte, message))
            is_damaged = fault is not None or (is_damaged and not is_block)

    def damage(self, start: int, offset: int, message: str) -> None:
        offset = start if message == tree.UNCLOSED else offset
        self.reading.is_complete = False
        self.reading.fault = self.reading.fault or self.file.diagnostic(offset, message)
        self.reading.warn(self.file.diagnostic(offset, f"{message}; the block is left out"))

    def json(self, document: json_syntax.Located) -> None:
        content = self.content(JsonBody(document), self.kinds)
        self.reading.sound.append((self.file, content))
        for found in content.blocks:
            self.top_level(found)
        for argument in content.arguments:
            message = f"found the property {argument.name[:40]}, expected a block of a module"
            content.problems.append((argument.at, message))
        if document.content is None:
            content.problems.append((document.start, "found null, expected an object"))

    def top_level(self, found: Inner) -> None:
        if found.kind == "locals":
            content = self.content(found.body, {})
            named = [(one.at, one.name) for one in content.arguments] + [(one.at, one.kind) for one in content.blocks]
            self.reading.blocks += (self.block_at(at, LOCAL, (name,)) for at, name in sorted(named))
        elif block := self.block(found, self.kinds.get(found.kind)):
            self.reading.blocks.append(block)

    def content(self, body: Body, kinds: Mapping[str, Nested]) -> Content:
        content = body.content(labels_of(kinds), only_arguments=False)
        for at in content.missing:
            self.skip(at, "an object is missing here")
        return content

    def skip(self, at: int, problem: str) -> None:
        """The judge of the language says what that means to clients."""
        self.reading.is_complete = False
        self.reading.warn(self.file.diagnostic(at, f"not read: {problem}"))

    def block(self, found: Inner, nested: Nested | None) -> Block | None:
        """None for one that no page shows."""
        if nested is None or nested.key not in SHOWN:
            return None
        shown, known = SHOWN[nested.key], BLOCKS[nested.key]
        labels = tuple(label or "" for label in found.labels)
        if len(labels) != len(known.labels) or "" in labels:
            plural = "label" if len(known.labels) == 1 else "labels"
            problem = f"this block has {len(known.labels)} {plural}, each a plain name"
            self.skip(found.at, "a name is missing here" if isinstance(found.body, JsonBody) else problem)
            return None
        kinds = {kind: one for kind, one in known.blocks.items() if one.key in SHOWN}
        content = self.content(found.body, kinds)
        if isinstance(found.body, JsonBody) and not found.body.is_written:
            return None
        attributes: dict[str, Value] = {}
        for argument in content.arguments:
            if shown is None or argument.name in shown:
                attributes[argument.name] = self.value(argument, attributes, with_entries=shown is None)
        inside = (self.block(one, kinds.get(one.kind)) for one in content.blocks)
        return self.block_at(found.at, found.kind, labels, attributes, tuple(filter(None, inside)))

    def block_at(
        self,
        at: int,
        kind: str,
        labels: tuple[str, ...],
        attributes: Mapping[str, Value] = MappingProxyType({}),
        blocks: tuple[Block, ...] = (),
    ) -> Block:
        return Block(kind, labels, self.file.path, self.file.line(at), self.file.column(at), attributes, blocks)

    def value(self, argument: Argument, before: Mapping[str, Value], *, with_entries: bool) -> Value:
        name, expression = argument.name, argument.expression
        if name in before:
            problem = f"{name} is set twice, so it is unclear which one applies"
            if not expression.is_json:
                fault = self.file.diagnostic(argument.at, f"{name} is set twice")
                self.reading.fault = self.reading.fault or fault
        elif name in REPETITIONS:
            return _repetition(self.file.line(argument.at), expression)
        elif expression.size > MAX_VALUE_BYTES:
            problem = f"not shown: this value is longer than {MAX_VALUE_BYTES} bytes"
        else:
            return _value(self.file, expression, name, with_entries=with_entries)
        self.reading.warn(self.file.diagnostic(argument.at, problem))
        return Value(self.file.line(argument.at), known=False)


def _value(file: File, expression: Expression, name: str, *, with_entries: bool = False) -> Value:
    """The value of the attribute of that name."""
    is_string = expression.is_json and expression.sort == "string"
    is_expression = name in _EXPRESSIONS
    return Value(
        line=file.line(expression.at),
        source=expression.source if is_expression and is_string else expression.written,
        literal=NOT_LITERAL if is_expression else expression.literal,
        references=_references(expression) if name in _REFERENCES else (),
        entries=_entries(file, expression) if with_entries else None,
        is_quoted=expression.is_quoted or is_string,
    )


def _references(expression: Expression) -> tuple[str, ...]:
    """Each of a list, or the one that it is, without an index (`aws.by_region[each.key]`)."""
    parts = [expression] if expression.elements is None else expression.elements
    if expression.is_json:
        return tuple(part.source for part in parts if part.sort == "string")
    paths = [part.path for part in parts]
    return tuple(".".join(takewhile(lambda name: name not in (KEY, ODD_KEY), path)) for path in paths if path)


def _entries(file: File, expression: Expression) -> dict[str, Value] | None:
    """Of an object; None if a key must be evaluated."""
    if expression.pairs is None:
        return None
    named = [(name_of(key), value) for key, value in expression.pairs]
    found = {name: _value(file, value, name) for name, value in named if name is not None}
    return found if all(name is not None for name, _ in named) else None


def _repetition(line: int, expression: Expression) -> Value:
    """The expression of `for_each`, as two versions are compared by it: its tokens, without blanks, comments and commas
    at the end of a list.
    """
    if isinstance(expression, JsonExpression):
        expression = expression.sequence or expression
    tokens = expression.tokens
    text = tokens[0] if expression.is_json else expression.source
    shown = " ".join(text[: 2 * MAX_SHOWN_CHARACTERS].split())
    if len(shown) > MAX_SHOWN_CHARACTERS or len(text) > 2 * MAX_SHOWN_CHARACTERS:
        shown = f"{shown[: MAX_SHOWN_CHARACTERS - 1]}…"
    digest = hashlib.sha256("\0".join(tokens).encode("utf-8", "replace")).hexdigest()[:16]
    return Value(line, source=shown, known=False, digest=digest)
