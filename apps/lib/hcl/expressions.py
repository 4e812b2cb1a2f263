"""Bodies and expressions of the native syntax."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from apps.lib.hcl import literals, tree, values
from apps.lib.hcl.bodies import KEY, ODD_KEY, Argument, Content, Inner, Sort, Traversal
from apps.lib.hcl.files import File

if TYPE_CHECKING:
    from tree_sitter import Node

_KEY = re.compile(r"[^\W\d][\w-]*")
_WHOLE = re.compile(r"\d+")
_PLAIN_HEREDOC = re.compile(r"<<[^\W\d][\w-]*\r?\n")
_MARKER = "TEMPLATE"
_TEXTS = frozenset({"template_expr", "literal_value"})
_SORTS: dict[str, Sort] = {
    "template_expr": "string",
    "string_lit": "string",
    "numeric_lit": "number",
    "bool_lit": "bool",
    "null_lit": "null",
    "tuple": "list",
    "object": "object",
    "for_tuple_expr": "list",
    "for_object_expr": "object",
}
_OF_NUMBERS = frozenset({"+", "-", "*", "/", "%"})
_WORDS = frozenset({"bool_lit", "null_lit"})
_LOOPS = frozenset({"for_tuple_expr", "for_object_expr", "template_for"})


class NativeBody:
    def __init__(self, file: File, block: "Node") -> None:
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


def inner(file: File, node: "Node") -> Inner:
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
    is_json = False

    def __init__(self, file: File, node: "Node", stands_at: int | None = None) -> None:
        self.file = file
        self.node = node
        self.stands_at = stands_at
        self._parts: list[Node] | None = None

    @classmethod
    def parsed(cls, text: str, stands_at: int, *, seconds: float = 0) -> Self | None:
        """The expression in a text; None if it is none. `seconds` as for the tree."""
        found = tree.expression_in(text, seconds=seconds)
        return None if found is None else cls(*found, stands_at)

    @classmethod
    def parsed_template(cls, text: str, stands_at: int) -> Self | None:
        """The template that a string of JSON is: what is in a heredoc."""
        return None if _MARKER in text else cls.parsed(f"<<{_MARKER}\n{text}\n{_MARKER}", stands_at)

    def _child(self, node: "Node") -> "NativeExpression":
        return NativeExpression(self.file, node, self.stands_at)

    @property
    def at(self) -> int:
        return self.node.start_byte if self.stands_at is None else self.stands_at

    @property
    def source(self) -> str:
        return self.file.source(self.node)

    @property
    def written(self) -> str:
        source = self.source
        # The lines of a plain heredoc are its value: without their indentation it would be another.
        if "\n" not in source or _PLAIN_HEREDOC.search(source):
            return source.replace("\r\n", "\n")
        return literals.outdented(source, self.file.indentation(self.node.start_byte))

    @property
    def size(self) -> int:
        return self.node.end_byte - self.node.start_byte

    @property
    def tokens(self) -> Sequence[str]:
        return [token.decode("utf-8", "replace") for token in values.tokens_of(self.file, self.node)]

    @property
    def _inside(self) -> list["Node"]:
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

    def _evaluated(self) -> Iterator["Node"]:
        """The nodes of what is surely evaluated: keys that are plain names are not, nor what an empty loop repeats."""
        waiting = [self.node]
        while waiting:
            node = waiting.pop()
            yield node
            children = node.children
            if node.type in _LOOPS:
                children = [_collection(node)]
            elif node.type == "object_elem" and _KEY.fullmatch(self.file.source(children[0])):
                children = children[1:]
            waiting += children

    @property
    def variables(self) -> Sequence[Traversal]:
        if all(child.type == "literal_value" for child in self._inside):
            return ()
        found: list[Traversal] = []
        waiting: list[tuple[Node, frozenset[str]]] = [(self.node, frozenset())]
        while waiting:
            node, scope = waiting.pop()
            children = node.children
            if node.type in _LOOPS:
                intro = _intro(node)
                waiting.append((_collection(node), scope))
                scope |= {self.file.source(child) for child in intro.children if child.type == "identifier"}
                children = [child for child in children if child.id != intro.id]
            elif node.type == "object_elem" and _KEY.fullmatch(self.file.source(children[0])):
                children = children[1:]
            else:
                found += self._referred(children, scope)
            waiting += [(child, scope) for child in children]
        return found

    def _referred(self, children: Sequence["Node"], scope: frozenset[str]) -> Iterator[Traversal]:
        """Yield the names in the references among these nodes; the parts of each are its next siblings."""
        for at, child in enumerate(children):
            if child.type == "variable_expr" and (root := self.file.source(child)) not in scope:
                names, _ = self._steps(children[at + 1 :])
                yield (root, *names)

    def _steps(self, parts: Sequence["Node"], *, is_evaluated: bool = False) -> tuple[list[str], bool]:
        """The names and keys that follow a root, and whether they are all of its parts."""
        names: list[str] = []
        for part in parts:
            if part.type == "get_attr":
                names.append(self.file.source(part.children[-1]))
            elif part.type == "index" and (key := self._key(part)):
                names.append(key)
            elif part.type == "index" and is_evaluated:
                names.append(KEY)
            elif part.type != "comment":
                return names, False
        return names, True

    def _key(self, index: "Node") -> str:
        """Of an index; empty if it must be evaluated."""
        form = index.children[0]
        if form.type != "new_index":
            return KEY
        inside = [child for child in form.children if child.type == "expression"]
        held = [child for child in inside[0].children if child.type != "comment"] if inside else []
        if len(held) != 1 or held[0].type != "literal_value":
            return ""
        literal = held[0].children[0]
        is_key = literal.type == "string_lit" or _WHOLE.fullmatch(self.file.source(literal))
        return KEY if is_key else ODD_KEY

    @property
    def is_quoted(self) -> bool:
        parts = self._inside
        return len(parts) == 1 and parts[0].type in _TEXTS and self.source.startswith('"')

    @property
    def literal(self) -> Any:
        return values.literal_or_none(self.file, self.node)

    value = literal

    @property
    def sort(self) -> Sort:
        node = self.node
        while node.type in ("expression", "literal_value", "collection_value", "for_expr", "operation"):
            inside = [child for child in node.children if child.type not in ("(", ")", "comment")]
            if len(inside) != 1:
                return ""
            node = inside[0]
        if node.type == "template_expr":
            parts = node.children[0].children
            is_wrapped = len(parts) == 3 and parts[1].type == "template_interpolation"  # noqa: PLR2004
            return "" if is_wrapped else "string"
        if node.type in ("unary_operation", "binary_operation"):
            operators = {child.type for child in node.children}
            return "number" if operators & _OF_NUMBERS else "bool"
        return _SORTS.get(node.type, "")

    @property
    def traversal(self) -> Traversal | None:
        return self._path(is_evaluated=False)

    @property
    def path(self) -> Traversal | None:
        return self._path(is_evaluated=True)

    def _path(self, *, is_evaluated: bool) -> Traversal | None:
        parts = self._inside
        if not parts:
            return None
        root = parts[0]
        is_word = root.type == "literal_value" and root.children[0].type in _WORDS  # as in `null.replica`
        if root.type != "variable_expr" and not is_word:
            return None
        names, is_whole = self._steps(parts[1:], is_evaluated=is_evaluated)
        return (self.file.source(root), *names) if is_whole else None

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

    def _collection(self, kind: str) -> "Node | None":
        parts = self._inside
        if len(parts) != 1 or parts[0].type != "collection_value":
            return None
        return parts[0].children[0] if parts[0].children[0].type == kind else None

    def as_type(self) -> "NativeExpression":
        return self

    def as_reference(self) -> "NativeExpression":
        return self


def _intro(loop: "Node") -> "Node":
    """`for k, v in collection` of a loop."""
    return next(child for child in loop.children if child.type in ("for_intro", "template_for_start"))


def _collection(loop: "Node") -> "Node":
    return next(child for child in _intro(loop).children if child.type == "expression")
