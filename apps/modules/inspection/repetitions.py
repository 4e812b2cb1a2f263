"""The expression of `for_each`, as two versions are compared by it: its tokens, without blanks, comments and commas at
the end of a list.
"""

import hashlib
import json
from typing import Any

from tree_sitter import Node

from apps.lib.hcl import tree
from apps.lib.hcl.files import File
from apps.modules.inspection.blocks import Value

MAX_SHOWN_CHARACTERS = 200
_TEXTS = frozenset({"string_lit", "quoted_template", "heredoc_template"})
_CLOSING = (b")", b"]", b"}")


def repetition_in(file: File, expression: Node) -> Value:
    """Of the native syntax."""
    return _repetition(file.line(expression.start_byte), file.source(expression), _tokens(file, expression))


def repetition_in_json(line: int, content: Any) -> Value:
    """`content`: as JSON. A string that is nothing but `${…}` counts as the expression in it."""
    inside = content[2:-1] if isinstance(content, str) and content.startswith("${") and content.endswith("}") else ""
    if found := tree.expression_in(inside) if inside else None:
        return _repetition(line, inside.strip(), _tokens(*found))
    text = json.dumps(content, ensure_ascii=False)
    return _repetition(line, text, text.encode("utf-8", "replace"))


def _repetition(line: int, text: str, tokens: bytes) -> Value:
    shown = " ".join(text[: 2 * MAX_SHOWN_CHARACTERS].split())
    if len(shown) > MAX_SHOWN_CHARACTERS or len(text) > 2 * MAX_SHOWN_CHARACTERS:
        shown = f"{shown[: MAX_SHOWN_CHARACTERS - 1]}…"
    return Value(line, source=shown, known=False, digest=hashlib.sha256(tokens).hexdigest()[:16])


def _tokens(file: File, expression: Node) -> bytes:
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
    return b"\0".join(found)


def _parts(file: File, text: Node) -> list[Node | bytes]:
    """What is between the sequences of a template, with its blanks, and these."""
    parts: list[Node | bytes] = []
    at = text.start_byte
    for child in text.children:
        if child.type in ("template_interpolation", "template_directive"):
            parts += [file.text[at : child.start_byte], child]
            at = child.end_byte
    return [*parts, file.text[at : text.end_byte]]
