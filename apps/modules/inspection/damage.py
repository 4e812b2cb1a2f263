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
_LABEL = re.compile(rb'"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+)')


@dataclass(frozen=True, slots=True)
class Header:
    kind: str
    labels: tuple[str, ...]
    shape: Shape


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
            if self.statement.fault is None or end <= self.statement.fault:
                yield start, end

    def reach(self) -> int:
        """How far the block may go in truth: to the next statement that is one for sure."""
        for other in self.layout.statements:
            if other.start > self.statement.start and other.fault is None and header_of(self.file.text, other):
                return other.start
        return len(self.file.text)

    def suspect(self, attributes: dict[str, Value], start: int, end: int) -> None:
        """Whatever is named in a part that cannot be read may be set there."""
        words = set(re.findall(rb"[\w-]+", self.file.text[start:end]))
        for name in self.shape.attributes:
            if name.encode() in words and not (name in attributes and attributes[name].known):
                attributes[name] = Value(self.file.line(start), known=False)
