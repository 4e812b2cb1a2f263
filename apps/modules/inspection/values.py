"""Expressions of the native syntax as values."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from apps.modules.inspection import literals
from apps.modules.inspection.blocks import NOT_LITERAL, Value
from apps.modules.inspection.schema import EXPRESSIONS, REFERENCES
from apps.modules.inspection.syntax import Piece, within

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_ODD_NUMBER = re.compile(r"\d[A-Za-z_]")  # or a name, or in a string
_REFERENCE = re.compile(r"[^\W\d][\w-]*(?:\.[^\W\d][\w-]*)*")
_WORD = re.compile(r"[^\W\d][\w-]*")
_MARKER = re.compile(rb"<<(?P<flush>-?)[^\r\n]+\r?\n")


def value_of(piece: Piece, expression: Node, name: str, *, with_entries: bool = False) -> Value:
    """What stands behind the `=` of the attribute of that name, whose tree has no error."""
    line = piece.file.line(piece.start(expression))
    source = piece.source(expression)
    if _ODD_NUMBER.search(source) and any(_is_odd_number(node) for node in within(expression)):
        return Value(line, known=False)
    return Value(
        line=line,
        source=_shown(piece, expression, source),
        literal=NOT_LITERAL if name in EXPRESSIONS else _literal(piece, expression),
        references=_references(piece, expression) if name in REFERENCES else (),
        entries=_entries(piece, expression) if with_entries else None,
    )


def _literal(piece: Piece, expression: Node) -> Any:
    try:
        return literal_of(piece, expression)
    except literals.Undecodable:
        return NOT_LITERAL


def _is_odd_number(node: Node) -> bool:
    """`0x1F` is a number to the grammar, and to nobody else."""
    return node.type == "numeric_lit" and not _NUMBER.fullmatch(node.text or b"")


def _shown(piece: Piece, expression: Node, source: str) -> str:
    if "\n" not in source:
        return source
    # The lines of a plain heredoc are its value: taking their indentation away would change it.
    if "<<" in source and any(node.type == "heredoc_start" and node.text == b"<<" for node in within(expression)):
        return source.replace("\r\n", "\n")
    return literals.outdented(source, piece.file.indentation(piece.start(expression)))


def _references(piece: Piece, expression: Node) -> tuple[str, ...]:
    """Each of a list, or the one that it is; an index behind it does not count (`aws.by_region[each.key]`)."""
    first = expression.children[0]
    parts = [expression]
    if first.type == "collection_value" and first.children[0].type == "tuple":
        parts = [node for node in first.children[0].children if node.type == "expression"]
    found = (_REFERENCE.match(piece.source(part)) for part in parts if part.children[0].type == "variable_expr")
    return tuple(match[0] for match in found if match)


def _entries(piece: Piece, expression: Node) -> dict[str, Value] | None:
    inner = _inner(expression)
    if inner.type != "collection_value" or inner.children[0].type != "object":
        return None
    entries = {}
    for element in inner.children[0].children:
        if element.type == "object_elem":
            try:
                key, value = _key_and_value(piece, element)
            except literals.Undecodable:
                return None  # a name that has to be evaluated: OpenTofu allows none here
            entries[key] = value_of(piece, value, key)
    return entries


@dataclass(frozen=True, slots=True)
class _Gather:
    """Made of the `count` literals that were read last."""

    count: int
    into: Callable[[list[Any]], Any]


def literal_of(piece: Piece, expression: Node) -> Any:
    """As JSON. Raises Undecodable where anything of it is no literal."""
    done: list[Any] = []
    waiting: list[Node | _Gather] = [expression]
    while waiting:
        item = waiting.pop()
        if isinstance(item, _Gather):
            parts = done[len(done) - item.count :]
            del done[len(done) - item.count :]
            done.append(item.into(parts))
            continue
        node = _inner(item)
        if node.type == "collection_value":
            waiting.extend(_collection(piece, node.children[0]))
        else:
            done.append(_scalar(piece, node))
    return done[0]


def _collection(piece: Piece, node: Node) -> list[Node | _Gather]:
    """What to do for a list or an object, last things first."""
    if node.type == "tuple":
        elements = [child for child in node.children if child.type == "expression"]
        return [_Gather(len(elements), list), *reversed(elements)]
    if node.type != "object":
        raise literals.Undecodable(node.type)
    pairs = [_key_and_value(piece, child) for child in node.children if child.type == "object_elem"]
    keys = [key for key, _ in pairs]
    return [_Gather(len(keys), lambda parts: dict(zip(keys, parts, strict=True))), *(part for _, part in pairs[::-1])]


def _key_and_value(piece: Piece, element: Node) -> tuple[str, Node]:
    sides = [child for child in element.children if child.type == "expression"]
    if len(sides) != 2:  # noqa: PLR2004  # the grammar knows no other
        raise literals.Undecodable(element.type)
    source = piece.source(sides[0])
    if _WORD.fullmatch(source):
        return source, sides[1]
    key = _scalar(piece, _inner(sides[0])) if sides[0].children[0].type != "(" else None
    if isinstance(key, str):
        return key, sides[1]
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key), sides[1]
    raise literals.Undecodable(source)


def _scalar(piece: Piece, node: Node) -> Any:
    sign = ""
    if node.type == "operation" and node.children[0].type == "unary_operation":
        operator, node = node.children[0].children
        if operator.type != "-" or _inner(node).child_count != 1 or _inner(node).children[0].type != "numeric_lit":
            raise literals.Undecodable("an operation")
        sign, node = "-", _inner(node)
    if node.type == "template_expr" and node.children[0].type == "heredoc_template":
        return _heredoc(piece, node.children[0])
    if node.type != "literal_value":
        raise literals.Undecodable(node.type)
    kind, source = node.children[0].type, piece.source(node)
    if kind == "numeric_lit":
        return literals.number(sign + source)
    if kind == "string_lit":
        return literals.quoted(source[1:-1])
    return {"true": True, "false": False, "null": None}[source]


def _heredoc(piece: Piece, node: Node) -> str:
    if any(child.type.startswith("template_") and child.type != "template_literal" for child in node.children):
        raise literals.Undecodable("a template")
    text = piece.file.text[piece.start(node) : piece.end(node)]
    head = _MARKER.match(text)
    if head is None:
        raise literals.Undecodable("a heredoc")
    # The last line is the marker.
    lines = text[head.end() : text.rfind(b"\n") + 1]
    return literals.heredoc(lines.decode("utf-8", "replace"), flush=bool(head["flush"]))


def _inner(node: Node) -> Node:
    """Without the wrappers of an expression: parentheses mean nothing by themselves."""
    while node.type == "expression":
        inside = [child for child in node.children if child.type not in ("(", ")", "comment")]
        if len(inside) != 1:
            return node
        node = inside[0]
    return node
