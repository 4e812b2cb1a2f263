"""One linear pass over native syntax: where statements begin and end, how deep brackets go, and what is not closed.

HCL ends a statement at a newline, the grammar of tree-sitter does not care; so this pass, which knows nothing but
strings, comments, heredocs and brackets, says how far each statement reaches, and a tree that says otherwise is not
believed. It also keeps the damage of a faulty file inside the statement that has it.
"""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from apps.modules.inspection.caps import MOST_DEPTH

_WORD = rb"[A-Za-z_\x80-\xff][\w\x80-\xff-]*"
_PLAIN = rb'(?:[^\s"{}()\[\]/\#<]++|"(?:[^"\\$%\n]++|\\[^\n]|\$(?![{$])|%(?![{%]))*+")'
_CODE = re.compile(
    rb"""[ \t\r]*+(?:
     (?P<plain>"""
    + _PLAIN
    + rb"(?:[ \t]*+"
    + _PLAIN
    + rb""")*+)
    |(?P<newline>\n)
    |(?P<open>[{(\[])
    |(?P<close>[})\]])
    |(?P<comment>\#[^\n]*+|//[^\n]*+)
    |(?P<heredoc><<-?(?P<marker>"""
    + _WORD
    + rb""")\r?\n)
    |(?P<quote>")
    |(?P<long_comment>/\*)
    |(?P<other>.)
    |(?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
_TEXT_OF_STRING = re.compile(rb"(?:[^\"\\$%\n]++|\\[^\n]|\$\$\{|%%\{|\$(?!\{)|%(?!\{))*+")
_TEXT_OF_HEREDOC = re.compile(rb"(?:[^$%\n]++|\$\$\{|%%\{|\$(?!\{)|%(?!\{))*+")
_CLOSES = {b"}": b"{$", b")": b"(", b"]": b"["}
_LEVELS = 3  # of bodies whose statements are told apart: the file's, its blocks', the blocks' in those
_BODIES = {b"{" * level: level for level in range(_LEVELS)}


class TooDeep(Exception):
    """Brackets inside each other, more than anybody writes; `offset` is that of the first one too many."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"more than {MOST_DEPTH} brackets are open at once")
        self.offset = offset


@dataclass(slots=True)
class Statement:
    """One attribute or block, from its first byte to behind its last. `fault` is the offset of what is wrong in it."""

    start: int
    end: int
    fault: int | None = None
    message: str = ""


@dataclass(slots=True)
class Layout:
    """The statements of the file, and for each level of bodies where the statement that starts at an offset ends."""

    statements: list[Statement] = field(default_factory=list)
    ends: tuple[dict[int, int], ...] = field(default_factory=lambda: tuple({} for _ in range(_LEVELS)))
    _sorted: dict[int, list[int]] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        return all(statement.fault is None for statement in self.statements)

    def within(self, level: int, statement: Statement) -> list[tuple[int, int]]:
        """The statements of a level that lie in another one, in their order."""
        starts = self._starts(level)
        lying = starts[bisect_right(starts, statement.start) : bisect_left(starts, statement.end)]
        return [(start, self.ends[level][start]) for start in lying]

    def after(self, offset: int) -> list[Statement]:
        """The statements of the file that begin behind the offset."""
        return self.statements[bisect_right(self.statements, offset, key=lambda statement: statement.start) :]

    def _starts(self, level: int) -> list[int]:
        # Statements of one level end in the order in which they begin.
        if level not in self._sorted:
            self._sorted[level] = list(self.ends[level])
        return self._sorted[level]


def lay_out(text: bytes) -> Layout:
    """Reads the whole text once. Raises TooDeep."""
    return _Pass(text).run()


class _Pass:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.layout = Layout()
        self.opened: list[bytes] = []  # { ( [ of code, " and < of a string and a heredoc, $ of a template in one
        self.openings: list[int] = []
        self.markers: list[bytes] = []
        self.starts: list[int | None] = [None] * _LEVELS
        self.ends = [0] * _LEVELS
        self.fault: tuple[int, str] | None = None
        # Of the body that we are in the code of; None inside anything else, or further inside.
        self.level: int | None = 0

    def run(self) -> Layout:
        at, length = 0, len(self.text)
        while at < length:
            top = self.opened[-1] if self.opened else b""
            if top == b'"':
                at = self.in_string(at)
            elif top == b"<":
                at = self.in_heredoc(at)
            else:
                at = self.in_code(at)
        if self.opened:
            self.blame(self.openings[-1], "what is opened here is never closed")
            self.opened.clear()
            self.ends[0] = len(self.text.rstrip())
        for level in reversed(range(_LEVELS)):
            self.finish(level)
        return self.layout

    def in_code(self, at: int) -> int:
        match = _CODE.match(self.text, at)
        assert match  # noqa: S101  # `other` and `end` take whatever is left
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        if kind in ("plain", "other"):
            self.token(start, end)
        elif kind == "newline":
            if self.level is not None:
                self.finish(self.level)
        elif kind == "open":
            self.token(start, end)
            self.push(match[kind], start)
        elif kind == "close":
            self.close(match[kind], start)
        elif kind == "quote":
            self.token(start, end)
            self.push(b'"', start)
        elif kind == "heredoc":
            self.token(start, end)
            self.push(b"<", start)
            self.markers.append(match["marker"])
        elif kind == "long_comment":
            return self.long_comment(start)
        return end

    def long_comment(self, at: int) -> int:
        end = self.text.find(b"*/", at + 2)
        if end < 0:
            self.token(at, len(self.text))
            self.blame(at, "this comment never ends")
            return len(self.text)
        return end + 2

    def in_string(self, at: int) -> int:
        end = self.text_end(_TEXT_OF_STRING, at)
        following = self.text[end : end + 1]
        if following in (b"$", b"%"):
            self.push(b"$", end)
            return end + 2
        if following == b'"':
            self.pop(end + 1)
            return end + 1
        if following == b"\\":  # before the newline, or the last byte
            return end + 1
        self.blame(self.openings[-1], "this string does not end on its line")
        self.pop(end)
        return end

    def in_heredoc(self, at: int) -> int:
        starts_line = self.text[at - 1 : at] == b"\n"
        if starts_line:
            line_end = self.text.find(b"\n", at)
            # The marker of the end is a whole line: without a newline behind it OpenTofu does not see it.
            line = self.text[at : line_end if line_end >= 0 else len(self.text)]
            if line_end >= 0 and line.strip() == self.markers[-1]:
                self.markers.pop()
                self.pop(at + len(line.rstrip()))
                return line_end
        end = self.text_end(_TEXT_OF_HEREDOC, at)
        if end == len(self.text):
            return end
        if self.text[end : end + 1] == b"\n":
            return end + 1
        self.push(b"$", end)
        return end + 2

    def text_end(self, pattern: re.Pattern[bytes], at: int) -> int:
        match = pattern.match(self.text, at)
        assert match  # noqa: S101  # both match nothing as well
        return match.end()

    def moved(self) -> None:
        """Something was opened or closed."""
        self.level = _BODIES.get(b"".join(self.opened)) if len(self.opened) < _LEVELS else None

    def token(self, start: int, end: int) -> None:
        if self.level is not None:
            if self.starts[self.level] is None:
                self.starts[self.level] = start
            self.ends[self.level] = end

    def push(self, kind: bytes, at: int) -> None:
        self.opened.append(kind)
        self.openings.append(at)
        if len(self.opened) > MOST_DEPTH:
            raise TooDeep(at)
        self.moved()

    def pop(self, end: int) -> None:
        """`end`: behind what closes it."""
        self.opened.pop()
        self.openings.pop()
        self.moved()
        self.token(end, end)

    def close(self, bracket: bytes, at: int) -> None:
        if self.opened and self.opened[-1] in _CLOSES[bracket]:
            if self.level is not None:
                self.finish(self.level)
            self.pop(at + 1)
            return
        self.token(at, at + 1)
        self.blame(at, f"found {bracket.decode()} where nothing that it closes is open")
        # A brace at the very left ends a block: what follows can be told apart again.
        if bracket == b"}" and self.opened and self.text[at - 1 : at] == b"\n":
            for level in range(1, _LEVELS):
                self.starts[level] = None
            self.opened.clear()
            self.openings.clear()
            self.markers.clear()
            self.moved()
            self.token(at, at + 1)

    def blame(self, offset: int, message: str) -> None:
        self.fault = self.fault or (offset, message)

    def finish(self, level: int) -> None:
        start = self.starts[level]
        if start is None:
            return
        self.starts[level] = None
        self.layout.ends[level][start] = self.ends[level]
        if level == 0:
            offset, message = self.fault or (None, "")
            self.layout.statements.append(Statement(start, self.ends[0], offset, message))
            self.fault = None
