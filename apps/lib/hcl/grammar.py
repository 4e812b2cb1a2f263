"""Syntax that tree-sitter's grammar accepts and HCL's scanner and parser refuse, besides line ends
(`hclsyntax/scan_tokens.rl`, `parser.go`).

Each pattern finds candidates in the text, of which the tree says whether they stand in a string or a comment.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from apps.lib.hcl.files import File

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_LOOKED_AT = 100  # places of each pattern in one file
_STRINGS = frozenset({"template_literal", "comment", "heredoc_identifier"})
SPACED_SPLAT = re.compile(rb"\[(?:[ \t]+\*[ \t]*|\*[ \t]+)\]")


class _Odd(NamedTuple):
    """`within`: kinds of nodes that hold the byte at the candidate's start, if it is wrong; empty: any but strings."""

    token: bytes
    pattern: re.Pattern[bytes]
    within: frozenset[str]
    message: str


_ODDITIES = (
    _Odd(
        b"<<",
        re.compile(rb"<<(?!-?[A-Za-z_\x80-\xff][\w\x80-\xff-]*\r?\n)"),
        frozenset({"heredoc_start", "<<", "<<-", "heredoc_template"}),
        "a heredoc that does not begin with its marker alone on the line",
    ),
    _Odd(
        b"::",
        re.compile(rb"(?<=\w)::(?![\w-]+(?:::[\w-]+)*[ \t]*\()"),
        frozenset({"identifier", "variable_expr"}),
        "a name with :: that is not called as a function",
    ),
    _Odd(b".", re.compile(rb"(?<=[\w\])])\.\d+\.\d"), frozenset(), "a number or index with two points"),
    _Odd(
        b"{",
        re.compile(rb"[$%]\{~?[ \t\r\n]*~?\}"),
        frozenset({"template_interpolation_start", "template_interpolation", "template_directive_start"}),
        "a template sequence without an expression",
    ),
    _Odd(b".*", re.compile(rb"\.\*[\w.\[\]\"]*\.\*"), frozenset(), "a splat .* within another one"),
    _Odd(b"\x0b", re.compile(rb"\x0b"), frozenset(), "a vertical tab"),
    _Odd(b"\x0c", re.compile(rb"\x0c"), frozenset(), "a form feed"),
)


def oddities(file: File, root: "Node") -> Iterator[tuple[int, str]]:
    """The offset of each, and what is wrong there."""
    for odd in _ODDITIES:
        if odd.token not in file.text:
            continue
        for match in islice(odd.pattern.finditer(file.text), MAX_LOOKED_AT):
            node = root.descendant_for_byte_range(match.start(), match.start() + 1)
            if node is not None and (node.type in odd.within if odd.within else not _is_text(node)):
                yield match.start(), odd.message


def _is_text(node: "Node") -> bool:
    """Return whether the node is within a string, heredoc or comment, which may contain any characters."""
    return node.type in _STRINGS or (node.type in ("string_lit", "quoted_template", "heredoc_template"))


def closed_up(match: re.Match[bytes]) -> bytes:
    """`[ * ]` as the grammar knows it, with as many bytes."""
    return b"[*]" + b" " * (len(match[0]) - 3)
