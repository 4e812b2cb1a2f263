"""The native syntax as tree-sitter's tree, and where a file is damaged.

The grammar accepts more than HCL does: it ignores where lines end, and lets a quoted string span lines. Both are
reported as damage, like the errors of the tree itself.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from io import BytesIO
from itertools import islice
from time import thread_time
from typing import TYPE_CHECKING

from apps.lib.hcl.files import MAX_DEPTH, File, Unreadable
from apps.lib.hcl.grammar import MAX_LOOKED_AT, SPACED_SPLAT, closed_up, oddities

if TYPE_CHECKING:
    from tree_sitter import Node

Fault = tuple[int, str]  # the offset, and what is wrong there
INVALID = "invalid syntax"
UNCLOSED = "an unclosed bracket or quote in this block"  # the offset is where the end is missing

# Numbers that the grammar reads otherwise than HCL: it does not know `1e5`, and takes `0x1F`.
_NUMBER = re.compile(rb"(?<![\w.])(?:(?P<exponent>\d+[eE][+-]?\d+)|0x)")
_EXPONENT = re.compile(rb"\d[eE][+-]?\d")  # found faster than numbers, which few files write in this way
# Only for cutting a damaged file: what these lines hide or begin is read by the grammar.
_HEADER = re.compile(rb'[a-z]\w*([ \t]+(\w+|"[^"\n]*"))*[ \t]*\{')
_HEREDOC = re.compile(rb"(?<!<)<<-?(\w+)\s*$")
_BRACKET = re.compile(rb"[][(){}]")
_OPENING = frozenset({"(", "[", "{", "tuple_start", "object_start", "block_start"})
_CLOSING = frozenset({")", "]", "}", "tuple_end", "object_end", "block_end"})
_CHUNK_BYTES = 64 * 1024
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_NO_UTF8 = re.compile("[\udc80-\udcff]")  # as Python marks such bytes
_STRAY = re.compile(rb"[\x01\x02]")
_COMMENTS = frozenset({"comment"})
_RETURNS = _COMMENTS | {"heredoc_template"}
_TEXTS = _RETURNS | {"string_lit", "quoted_template"}
_TOP_LEVEL = frozenset({"attribute", "block", "comment"})
_QUOTED = frozenset({"string_lit", "quoted_template"})
_BLOCKS = frozenset({"block", "body"})
_STATEMENTS = frozenset({"attribute", "block", "object_elem"})
# A line may end anywhere in these.
_BREAKING = _QUOTED | {"heredoc_template", "body", "comment"}
_TEMPLATES = frozenset({"template_interpolation", "template_directive"})


class _Grammar:
    """Loaded when the first text is read: few processes ever read one. Threads share it, for parsing keeps the GIL."""

    def __init__(self) -> None:
        import tree_sitter_hcl  # as the docstring says
        from tree_sitter import Language, Parser, Query, QueryCursor  # likewise

        language = Language(tree_sitter_hcl.language())
        self.own_parser = partial(Parser, language)
        self.parser = self.own_parser()
        self._objects = Query(language, "(object) @object")
        self._cursor = QueryCursor

    def objects(self, root: "Node") -> Iterable["Node"]:
        return self._cursor(self._objects).captures(root).get("object", ())


def parse(file: File, *, seconds: float = 0) -> "Node":
    """`seconds`: of the processor, at most; 0: as many as it takes. Raises Unreadable.

    Deep nesting costs the parser quadratic time, as many blanks behind an error do.
    """
    # So few brackets cannot be too deep.
    if sum(map(file.text.count, (b"(", b"[", b"{"))) > MAX_DEPTH:
        _check_depth(file.text)
    has_numbers = b"0x" in file.text or _EXPONENT.search(file.text)
    text = _NUMBER.sub(_known_number, file.text) if has_numbers else file.text
    if b"[ " in text or b"[*" in text:
        text = SPACED_SPLAT.sub(closed_up, text)
    if not seconds:
        return _grammar().parser.parse(text).root_node
    end = thread_time() + seconds
    try:
        # Other threads run during the callback, so this parser is not shared.
        parser = _grammar().own_parser()
        tree = parser.parse(
            lambda at, _: text[at : at + _CHUNK_BYTES], progress_callback=lambda *_: thread_time() > end
        )
    except ValueError:
        raise Unreadable(0, "a text that takes too long to read") from None
    return tree.root_node


def _check_depth(text: bytes) -> None:
    depth = 0
    for match in _BRACKET.finditer(text):
        depth = depth + 1 if match[0] in b"([{" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            raise Unreadable(match.start(), f"more than {MAX_DEPTH} nested brackets")


def pieces(file: File) -> Iterator[File]:
    """The file, cut before each line on which a block begins without indentation, outside of heredocs and comments."""
    cut, lines, at, until = 0, 0, 0, b""
    for number, line in enumerate(BytesIO(file.text)):
        comment = line.rfind(b"/*")
        if until:
            if line.strip() == until or (until == b"*/" and until in line):
                until = b""
        elif opening := _HEREDOC.search(line):
            until = opening[1]
        elif comment > line.rfind(b"*/") and not line.count(b'"', 0, comment) % 2:
            until = b"*/"
        elif _HEADER.match(line):
            yield File(file.path, file.text[cut:at], lines)
            cut, lines = at, number
        at += len(line)
    yield File(file.path, file.text[cut:], lines)


def top_level(root: "Node") -> Iterator["Node"]:
    """The file's statements, and in a damaged file the pieces between them."""
    for node in root.children:
        yield from node.children if node.type == "body" else [node]


def statements(block: "Node") -> list["Node"]:
    """The attributes and blocks in a block."""
    bodies = (child for child in block.children if child.type == "body")
    return [node for body in bodies for node in body.children if node.type in ("attribute", "block")]


def faults_of(file: File, root: "Node") -> list[Fault]:
    """In the order of the file."""
    waiting = list(top_level(root))
    found = [*_joined(file, waiting), *_line_ends(file, root), *_unseparated(file, root), *oddities(file, root)]
    found += [(node.start_byte, INVALID) for node in waiting if node.type not in _TOP_LEVEL]
    is_sound = not root.has_error
    while waiting:
        node = waiting.pop()
        kind = node.type
        if not is_sound and node.is_error:
            found.append((node.start_byte, INVALID))
        elif not is_sound and node.is_missing:
            found.append((node.start_byte, UNCLOSED))
        elif kind in _BLOCKS or file.spans_lines(node) or (not is_sound and node.has_error):
            found += _line_faults(file, node, kind)
            if kind == "block":
                found += _one_line_faults(file, node)
            # Between tokens nothing can be wrong but what breaks the tree.
            waiting += node.named_children if is_sound else node.children
    return sorted(found)


def expression_in(text: str, *, seconds: float = 0) -> tuple[File, "Node"] | None:
    """The expression that a text is, with the file of its node; None if it is none. `seconds` as for `parse`."""
    file = File("", b"x = " + text.encode("utf-8", "replace") + b"\n")
    try:
        root = parse(file, seconds=seconds)
    except Unreadable:
        return None
    found = [part for part in top_level(root) if part.type != "comment"]
    if root.has_error or len(found) != 1 or found[0].type != "attribute":
        return None
    return file, found[0].children[-1]


def stray_byte(file: File) -> int | None:
    """The first byte that stops every client: not UTF-8 outside of comments, or NUL outside of strings too.

    Raises Unreadable.
    """
    decoded = file.text.decode("utf-8", "surrogateescape")
    text = _NO_UTF8.sub("\x01", decoded).replace("\0", "\x02").encode()  # as many bytes
    root = parse(File(file.path, text))
    for match in islice(_STRAY.finditer(text), MAX_LOOKED_AT):
        allowed = _COMMENTS if match[0] == b"\x01" else _TEXTS
        if file.text[match.start()] not in b"\x01\x02" and not _is_within(root, match.start(), allowed):
            return match.start()
    return None


def _is_within(root: "Node", at: int, kinds: Collection[str]) -> bool:
    node = root.descendant_for_byte_range(at, at + 1)
    while node is not None and node.type not in kinds:
        node = node.parent
    return node is not None


def _line_faults(file: File, node: "Node", kind: str) -> Iterable[Fault]:
    """Find line ends that HCL does not allow there, in a node of this kind."""
    if kind == "body":
        return _joined(file, node.children)
    if kind in _STATEMENTS:
        at = _line_break(file, node)
        return () if at is None else [(at, "a newline that HCL does not allow")]
    if kind in _QUOTED:
        parts = [child for child in node.children if child.type in _TEMPLATES]
        starts = [node.start_byte, *(part.end_byte for part in parts)]
        ends = [*(part.start_byte for part in parts), node.end_byte]
        if any(file.line(start) != file.line(end) for start, end in zip(starts, ends, strict=True)):
            return [(node.start_byte, "unterminated string")]
    return ()


def _one_line_faults(file: File, block: "Node") -> Iterator[Fault]:
    """Yield the faults on the line of a block's opening or closing brace.

    After `{` on its line: nothing, or one argument and `}`. Before `}` on its line: nothing else.
    """
    braces = [child for child in block.children if child.type in ("block_start", "block_end")]
    inside = statements(block)
    if not inside or len(braces) != 2 or braces[1].has_error:  # noqa: PLR2004  # else the tree has an error
        return
    first, last = inside[0], inside[-1]
    closing = file.line(braces[1].start_byte)
    if file.line(braces[0].start_byte) != file.line(first.start_byte):
        if file.line(last.end_byte) == closing:
            yield braces[1].start_byte, "a newline is missing before this"
    elif first.type == "block":
        yield first.start_byte, "a newline is missing before this: a block on one line has at most one argument"
    elif len(inside) > 1 or file.line(last.end_byte) != closing:
        yield first.start_byte, "a newline is missing before this: the block does not end on its line"


def _unseparated(file: File, root: "Node") -> Iterator[Fault]:
    """Find elements of an object that neither a comma nor a newline separates."""
    for node in _grammar().objects(root):
        end = None
        for child in node.children:
            if child.type == "object_elem":
                if end is not None and not file.has_line_end(end, child.start_byte):
                    yield child.start_byte, "a comma or a newline is missing before this"
                end = child.end_byte
            elif child.type == ",":
                end = None


def _line_ends(file: File, root: "Node") -> Iterator[Fault]:
    """Find carriage returns that end no line."""
    for match in islice(_LONE_RETURN.finditer(file.text), MAX_LOOKED_AT):
        if not _is_within(root, match.start(), _RETURNS):
            yield match.start(), "a carriage return without a newline"


def _joined(file: File, nodes: list["Node"]) -> Iterator[Fault]:
    """Find statements that begin on the line of another."""
    end, is_apart = 0, True
    for node in nodes:
        is_apart = is_apart or file.has_line_end(end, node.start_byte)
        if node.type != "comment":
            if not is_apart:
                yield node.start_byte, "a newline is missing before this"
            is_apart = False
        end = node.end_byte


def _line_break(file: File, statement: "Node") -> int | None:
    """The first token of a statement that a line break outside of all brackets comes before."""
    found = None
    waiting = [statement]
    while waiting:
        depth, end = 0, None
        for node in waiting.pop().children:
            kind, start = node.type, node.start_byte
            if depth == 0:
                if end is not None and file.has_line_end(end, start):
                    found = min(found or start, start)
                if kind not in _BREAKING and file.spans_lines(node):
                    waiting.append(node)
            if kind in _OPENING:
                depth += 1
            elif kind in _CLOSING:
                depth -= 1
            end = node.end_byte
    return found


def _known_number(match: re.Match[bytes]) -> bytes:
    """Return a replacement of the same length; the tree only says where a number is."""
    return b"0" * len(match[0]) if match["exponent"] else b"0@"


@cache
def _grammar() -> _Grammar:
    return _Grammar()


def warm_up() -> None:
    """Load the grammar's library: a sandboxed process cannot open it later."""
    _grammar().parser.parse(b"")
