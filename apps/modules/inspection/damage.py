"""A block with a fault in it: what of it can still be told apart, and what may be set in the rest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from apps.modules.inspection.blocks import Value
from apps.modules.inspection.layout import Layout, Statement
from apps.modules.inspection.schema import SCHEMA, Shape
from apps.modules.inspection.syntax import File

_HEADER = re.compile(
    rb'(?P<kind>[A-Za-z_][\w-]*)(?P<labels>(?:[ \t]+(?:"[^"\\$%\n]*"|[A-Za-z_][\w-]*))*)[ \t]*\{', re.ASCII
)
_FIRST = re.compile(rb"[a-z_]+")
_BLOCK_AT_MARGIN = re.compile(rb'\n(?:%s)[ \t]+["\w{]' % "|".join(SCHEMA).encode())
_SETTING = re.compile(rb"(?P<name>[A-Za-z_][\w-]*)[ \t]*=(?!=)", re.ASCII)
_WORDS = {
    name: re.compile(rb"(?<![\w-])%s(?![\w-])" % name.encode())
    for shape in SCHEMA.values()
    for name in shape.attributes
}
_LABEL = re.compile(rb'"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+)')


@dataclass(frozen=True, slots=True)
class Header:
    kind: str
    labels: tuple[str, ...]
    shape: Shape


def may_have_swallowed(text: bytes, start: int, end: int) -> bool:
    """Whether a statement holds the head of a block at the left margin: a heredoc that lost its end goes on to the next
    marker, and takes other blocks, secrets and all, for text. In a sound file such a text is only an example.
    """
    return _BLOCK_AT_MARGIN.search(text, start, end) is not None


def is_wanted(text: bytes, statement: Statement) -> bool:
    """Whether it begins with the word of a block that is read."""
    word = _FIRST.match(text, statement.start, statement.end)
    return word is not None and word[0].decode() in SCHEMA


def header_of(text: bytes, statement: Statement) -> Header | None:
    """None where the statement does not begin as one of the blocks that are read."""
    match = _HEADER.match(text, statement.start, statement.end)
    if match is None:
        return None
    kind = match["kind"].decode()
    labels = tuple((label["quoted"] or label["bare"] or b"").decode() for label in _LABEL.finditer(match["labels"]))
    shape = SCHEMA.get(kind)
    if shape is None or len(labels) != shape.labels or "" in labels:
        return None
    return Header(kind, labels, shape)


@dataclass(frozen=True, slots=True)
class Wreck:
    file: File
    layout: Layout
    statement: Statement
    shape: Shape

    def sound_statements(self) -> Iterator[tuple[int, int]]:
        """Start and end of each statement in the block, up to the fault."""
        for start, end in self.layout.within(1, self.statement):
            if self.statement.fault is None or end < self.statement.fault:
                yield start, end

    def reach(self) -> int:
        """How far the block may go in truth: to the next statement that is one for sure."""
        for other in self.layout.after(self.statement.start):
            if other.fault is None and header_of(self.file.text, other):
                return other.start
        return len(self.file.text)

    def suspect(self, attributes: dict[str, Value], before: int, start: int, end: int) -> None:
        """Whatever is named in a part that cannot be read may be set there, and a part that sets nothing by itself may
        belong to the statement `before` it.
        """
        text = self.file.text
        for name in self.shape.attributes:
            if _WORDS[name].search(text, start, end) and not (name in attributes and attributes[name].known):
                attributes[name] = Value(self.file.line(start), known=False)
        setting = None if _SETTING.match(text, start, end) else _SETTING.match(text, before, start)
        if setting and (name := setting["name"].decode()) in attributes:
            attributes[name] = Value(self.file.line(before), known=False)
