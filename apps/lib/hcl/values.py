"""Expressions of the native syntax that are literal."""

import re
from typing import TYPE_CHECKING, Any

from apps.lib.hcl import literals
from apps.lib.hcl.files import NOT_LITERAL, File

if TYPE_CHECKING:
    from tree_sitter import Node

_TEXTS = frozenset({"string_lit", "quoted_template", "heredoc_template"})
_CLOSING = (b")", b"]", b"}")
_WORD = re.compile(r"[^\W\d][\w-]*")
_HEREDOC = re.compile(r"<<(?P<flush>-?)[^\r\n]+\r?\n")


def literal_or_none(file: File, expression: "Node") -> Any:
    try:
        return _literal(file, expression)
    except (literals.Undecodable, RecursionError):
        return NOT_LITERAL


def _literal(file: File, expression: "Node") -> Any:
    """Return the expression as JSON. Raises Undecodable unless all of it is literal. MAX_DEPTH bounds the recursion."""
    node = unwrapped(expression)
    if node.type != "collection_value":
        return _scalar(file, node)
    collection = node.children[0]
    if collection.type == "tuple":
        return [_literal(file, element) for element in expressions_in(collection)]
    return {key: _literal(file, value) for key, value in members(file, collection)}


def members(file: File, collection: "Node") -> list[tuple[str, "Node"]]:
    if collection.type != "object":
        raise literals.Undecodable(collection.type)
    return [_key_and_value(file, child) for child in collection.children if child.type == "object_elem"]


def _key_and_value(file: File, element: "Node") -> tuple[str, "Node"]:
    sides = expressions_in(element)
    if len(sides) != 2:  # noqa: PLR2004  # the grammar knows no other
        raise literals.Undecodable(element.type)
    source = file.source(sides[0])
    if _WORD.fullmatch(source):
        return source, sides[1]
    key = _scalar(file, unwrapped(sides[0])) if sides[0].children[0].type != "(" else None
    if isinstance(key, str):
        return key, sides[1]
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key), sides[1]
    raise literals.Undecodable(source)


def _scalar(file: File, node: "Node") -> Any:
    sign = ""
    if node.type == "operation" and node.children[0].type == "unary_operation":
        operator, operand = node.children[0].children
        node = unwrapped(operand)
        if operator.type != "-" or node.child_count != 1 or node.children[0].type != "numeric_lit":
            raise literals.Undecodable("an operation")
        sign = "-"
    if node.type == "template_expr" and node.children[0].type == "heredoc_template":
        if any(
            child.type.startswith("template_") and child.type != "template_literal"
            for child in node.children[0].children
        ):
            raise literals.Undecodable("a template")
        text = file.source(node.children[0])
        head = _HEREDOC.match(text)
        if head is None:
            raise literals.Undecodable("a heredoc")
        # The last line is the marker.
        return literals.heredoc(text[head.end() : text.rfind("\n") + 1], flush=bool(head["flush"]))
    if node.type != "literal_value":
        raise literals.Undecodable(node.type)
    kind, source = node.children[0].type, file.source(node)
    if kind == "numeric_lit":
        return literals.number(sign + source)
    if kind == "string_lit":
        return literals.quoted(source[1:-1])
    return {"true": True, "false": False, "null": None}[source]


def expressions_in(node: "Node") -> list["Node"]:
    return [child for child in node.children if child.type == "expression"]


def unwrapped(node: "Node") -> "Node":
    """The expression without its wrappers: parentheses mean nothing by themselves."""
    while node.type == "expression":
        inside = [child for child in node.children if child.type not in ("(", ")", "comment")]
        if len(inside) != 1:
            return node
        node = inside[0]
    return node


def tokens_of(file: File, expression: "Node") -> list[bytes]:
    """Without blanks, comments and commas at the end of a list."""
    found: list[bytes] = []
    waiting: list[Node | bytes] = [expression]
    while waiting:
        one = waiting.pop()
        if isinstance(one, bytes):
            found.append(one)
        elif one.type in _TEXTS:
            waiting += reversed(_parts(file, one))
        elif one.child_count:
            waiting += reversed(one.children)
        elif one.type != "comment":
            token = file.text[one.start_byte : one.end_byte]
            if token in _CLOSING and found[-1:] == [b","]:
                found.pop()
            found.append(token)
    return found


def _parts(file: File, text: "Node") -> list["Node | bytes"]:
    """Return the sequences of a template and the text between them, with its blanks."""
    parts: list[Node | bytes] = []
    at = text.start_byte
    for child in text.children:
        if child.type in ("template_interpolation", "template_directive"):
            parts += [file.text[at : child.start_byte], child]
            at = child.end_byte
    return [*parts, file.text[at : text.end_byte]]
