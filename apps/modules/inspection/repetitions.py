"""The expression of `for_each`, as two versions are compared by it: its tokens, without blanks, comments and commas at
the end of a list.
"""

import hashlib
import json
from typing import Any

from tree_sitter import Node

from apps.lib.hcl import tree
from apps.lib.hcl.files import File
from apps.lib.hcl.values import tokens_of
from apps.modules.inspection.blocks import Value

MAX_SHOWN_CHARACTERS = 200


def repetition_in(file: File, expression: Node) -> Value:
    """Of the native syntax."""
    return _repetition(
        file.line(expression.start_byte), file.source(expression), b"\0".join(tokens_of(file, expression))
    )


def repetition_in_json(line: int, content: Any) -> Value:
    """`content`: as JSON. A string that is nothing but `${…}` counts as the expression in it."""
    inside = content[2:-1] if isinstance(content, str) and content.startswith("${") and content.endswith("}") else ""
    if found := tree.expression_in(inside) if inside else None:
        return _repetition(line, inside.strip(), b"\0".join(tokens_of(*found)))
    text = json.dumps(content, ensure_ascii=False)
    return _repetition(line, text, text.encode("utf-8", "replace"))


def _repetition(line: int, text: str, tokens: bytes) -> Value:
    shown = " ".join(text[: 2 * MAX_SHOWN_CHARACTERS].split())
    if len(shown) > MAX_SHOWN_CHARACTERS or len(text) > 2 * MAX_SHOWN_CHARACTERS:
        shown = f"{shown[: MAX_SHOWN_CHARACTERS - 1]}…"
    return Value(line, source=shown, known=False, digest=hashlib.sha256(tokens).hexdigest()[:16])
