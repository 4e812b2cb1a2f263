"""Bodies and expressions of the native syntax."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Self

from tree_sitter import Node

from apps.modules.inspection import literals, native, tree
from apps.modules.inspection.blocks import File, Unreadable
from apps.modules.inspection.language.bodies import Argument, Content, Inner, Traversal

_PREFIX = b"x = "
_KEY = re.compile(r"[^\W\d][\w-]*")


class NativeBody:
    def __init__(self, file: File, block: Node) -> None:
        self.file = file
        self.block = block

    def content(self, labels: dict[str, int], *, only_arguments: bool) -> Content:  # noqa: ARG002
        found = Content()
        for node in tree.statements(self.block):
            if node.type == "attribute":
                name = self.file.source(node.children[0])
                found.arguments.append(Argument(name, node.start_byte, NativeExpression(self.file, node.children[-1])))
            else:
                found.blocks.append(inner(self.file, node))
        return found


def inner(file: File, node: Node) -> Inner:
    labels: list[str | None] = []  # None for one that must be evaluated, or cannot be read
    for part in node.children[1:]:
        source = file.source(part)
        if part.type == "identifier":
            labels.append(source)
        elif part.type == "string_lit":
            try:
                labels.append(None if literals.begins_template(source) else literals.quoted(source[1:-1]))
            except literals.Undecodable:
                labels.append(None)
    return Inner(file.source(node.children[0]), tuple(labels), node.start_byte, NativeBody(file, node))


class NativeExpression:
    """`stands_at`: where a text is in its file that was parsed apart from it."""

    __slots__ = ("_parts", "file", "node", "stands_at")

    def __init__(self, file: File, node: Node, stands_at: int | None = None) -> None:
        self.file = file
        self.node = node
        self.stands_at = stands_at
        self._parts: list[Node] | None = None

    @classmethod
    def parsed(cls, text: str, stands_at: int) -> Self | None:
        """The expression in a text; None if it is none."""
        file = File("", _PREFIX + text.encode("utf-8", "replace") + b"\n")
        try:
            root = tree.parse(file)
        except Unreadable:
            return None
        statements = [part for part in tree.top_level(root) if part.type != "comment"]
        if root.has_error or len(statements) != 1 or statements[0].type != "attribute":
            return None
        return cls(file, statements[0].children[-1], stands_at)

    def _child(self, node: Node) -> "NativeExpression":
        return NativeExpression(self.file, node, self.stands_at)

    @property
    def at(self) -> int:
        return self.node.start_byte if self.stands_at is None else self.stands_at

    @property
    def source(self) -> str:
        return self.file.source(self.node)

    @property
    def _inside(self) -> list[Node]:
        """The parts of the expression without comments."""
        if self._parts is None:
            self._parts = [child for child in self.node.children if child.type != "comment"]
        return self._parts

    @property
    def is_constant(self) -> bool:
        parts = self._inside
        if len(parts) == 1 and parts[0].type == "literal_value":
            return True
        return not any(node.type in ("variable_expr", "function_call") for node in self._evaluated())

    def reads(self) -> bool:
        return any(node.type == "variable_expr" for node in self._evaluated(into_loops=True))

    def _evaluated(self, *, into_loops: bool = False) -> Iterator[Node]:
        """The nodes of what is evaluated: keys that are plain names are not; names in a loop may be its own."""
        waiting = [self.node]
        while waiting:
            node = waiting.pop()
            yield node
            children = node.children
            if node.type == "for_expr" and not into_loops:
                continue
            if node.type == "object_elem" and _KEY.fullmatch(self.file.source(children[0])):
                children = children[1:]
            waiting += children

    @property
    def is_quoted(self) -> bool:
        return len(self._inside) == 1 and self.source.startswith('"')

    @property
    def value(self) -> Any:
        return native.literal_or_none(self.file, self.node)

    @property
    def traversal(self) -> Traversal | None:
        parts = self._inside
        if not parts or parts[0].type != "variable_expr":
            return None
        names = [self.file.source(parts[0])]
        for part in parts[1:]:
            if part.type == "get_attr":
                names.append(self.file.source(part.children[-1]))
            elif part.type == "index" and NativeExpression(self.file, part).is_constant:
                names.append("[]")
            else:
                return None
        return tuple(names)

    @property
    def call(self) -> tuple[str, Sequence["NativeExpression"]] | None:
        parts = self._inside
        if len(parts) != 1 or parts[0].type != "function_call":
            return None
        found = [child for child in parts[0].children if child.type == "function_arguments"]
        arguments = [one for child in found for one in child.children if one.type == "expression"]
        return self.file.source(parts[0].children[0]), [self._child(one) for one in arguments]

    @property
    def elements(self) -> Sequence["NativeExpression"] | None:
        collection = self._collection("tuple")
        if collection is None:
            return None
        return [self._child(one) for one in collection.children if one.type == "expression"]

    @property
    def pairs(self) -> Sequence[tuple["NativeExpression", "NativeExpression"]] | None:
        collection = self._collection("object")
        if collection is None:
            return None
        sides = [
            [one for one in child.children if one.type == "expression"]
            for child in collection.children
            if child.type == "object_elem"
        ]
        return [(self._child(pair[0]), self._child(pair[1])) for pair in sides if len(pair) == 2]  # noqa: PLR2004

    def _collection(self, kind: str) -> Node | None:
        parts = self._inside
        if len(parts) != 1 or parts[0].type != "collection_value":
            return None
        return parts[0].children[0] if parts[0].children[0].type == kind else None

    def as_type(self) -> "NativeExpression":
        return self
