"""Expressions of the native syntax as values."""

import re
from typing import Any

from tree_sitter import Node

from apps.modules.inspection import literals
from apps.modules.inspection.blocks import NOT_LITERAL, Value
from apps.modules.inspection.schema import EXPRESSIONS, REFERENCES
from apps.modules.inspection.source import File

_REFERENCE = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*")
_WORD = re.compile(r"[^\W\d][\w-]*")
_HEREDOC = re.compile(r"<<(?P<flush>-?)[^\r\n]+\r?\n")
_PLAIN_HEREDOC = re.compile(r"<<[^\W\d][\w-]*\r?\n")


def value_of(file: File, expression: Node, name: str, *, with_entries: bool = False) -> Value:
    """The value of the attribute of that name, which is undamaged."""
    return Value(
        line=file.line(expression.start_byte),
        source=_shown(file, expression),
        literal=NOT_LITERAL if name in EXPRESSIONS else _literal_or_none(file, expression),
        references=_references(file, expression) if name in REFERENCES else (),
        entries=_entries(file, expression) if with_entries else None,
    )


def _literal_or_none(file: File, expression: Node) -> Any:
    try:
        return _literal(file, expression)
    except (literals.Undecodable, RecursionError):
        return NOT_LITERAL


def _shown(file: File, expression: Node) -> str:
    source = file.source(expression)
    # The lines of a plain heredoc are its value: without their indentation it would be another.
    if "\n" not in source or _PLAIN_HEREDOC.search(source):
        return source.replace("\r\n", "\n")
    return literals.outdented(source, file.indentation(expression.start_byte))


def _references(file: File, expression: Node) -> tuple[str, ...]:
    """Each of a list, or the one that it is, without an index (`aws.by_region[each.key]`)."""
    first = expression.children[0]
    parts = [expression]
    if first.type == "collection_value" and first.children[0].type == "tuple":
        parts = _expressions(first.children[0])
    found = (_REFERENCE.match(file.source(part)) for part in parts if part.children[0].type == "variable_expr")
    return tuple(match[0] for match in found if match)


def _entries(file: File, expression: Node) -> dict[str, Value] | None:
    """Of an object; None if a key must be evaluated."""
    inner = _unwrapped(expression)
    if inner.type != "collection_value" or inner.children[0].type != "object":
        return None
    try:
        return {key: value_of(file, value, key) for key, value in _members(file, inner.children[0])}
    except literals.Undecodable:
        return None


def _literal(file: File, expression: Node) -> Any:
    """As JSON. Raises Undecodable unless all of it is literal. MAX_DEPTH bounds the recursion."""
    node = _unwrapped(expression)
    if node.type != "collection_value":
        return _scalar(file, node)
    collection = node.children[0]
    if collection.type == "tuple":
        return [_literal(file, element) for element in _expressions(collection)]
    return {key: _literal(file, value) for key, value in _members(file, collection)}


def _members(file: File, collection: Node) -> list[tuple[str, Node]]:
    if collection.type != "object":
        raise literals.Undecodable(collection.type)
    return [_key_and_value(file, child) for child in collection.children if child.type == "object_elem"]


def _key_and_value(file: File, element: Node) -> tuple[str, Node]:
    sides = _expressions(element)
    if len(sides) != 2:  # noqa: PLR2004  # the grammar knows no other
        raise literals.Undecodable(element.type)
    source = file.source(sides[0])
    if _WORD.fullmatch(source):
        return source, sides[1]
    key = _scalar(file, _unwrapped(sides[0])) if sides[0].children[0].type != "(" else None
    if isinstance(key, str):
        return key, sides[1]
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key), sides[1]
    raise literals.Undecodable(source)


def _scalar(file: File, node: Node) -> Any:
    sign = ""
    if node.type == "operation" and node.children[0].type == "unary_operation":
        operator, operand = node.children[0].children
        node = _unwrapped(operand)
        if operator.type != "-" or node.child_count != 1 or node.children[0].type != "numeric_lit":
            raise literals.Undecodable("an operation")
        sign = "-"
    if node.type == "template_expr" and node.children[0].type == "heredoc_template":
        return _heredoc(file, node.children[0])
    if node.type != "literal_value":
        raise literals.Undecodable(node.type)
    kind, source = node.children[0].type, file.source(node)
    if kind == "numeric_lit":
        return literals.number(sign + source)
    if kind == "string_lit":
        return literals.quoted(source[1:-1])
    return {"true": True, "false": False, "null": None}[source]


def _heredoc(file: File, node: Node) -> str:
    if any(child.type.startswith("template_") and child.type != "template_literal" for child in node.children):
        raise literals.Undecodable("a template")
    text = file.source(node)
    head = _HEREDOC.match(text)
    if head is None:
        raise literals.Undecodable("a heredoc")
    # The last line is the marker.
    return literals.heredoc(text[head.end() : text.rfind("\n") + 1], flush=bool(head["flush"]))


def _expressions(node: Node) -> list[Node]:
    return [child for child in node.children if child.type == "expression"]


def _unwrapped(node: Node) -> Node:
    """The expression without its wrappers: parentheses mean nothing by themselves."""
    while node.type == "expression":
        inside = [child for child in node.children if child.type not in ("(", ")", "comment")]
        if len(inside) != 1:
            return node
        node = inside[0]
    return node
