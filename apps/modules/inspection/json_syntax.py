"""The JSON syntax (`.tf.json`, `.tofu.json`) as blocks. A file that is no JSON holds none."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from apps.modules.inspection import literals
from apps.modules.inspection.blocks import NOT_LITERAL, Block, Value
from apps.modules.inspection.caps import MOST_VALUE_BYTES
from apps.modules.inspection.positioned_json import BadJson, Located, Member, read_json
from apps.modules.inspection.reading import Reading
from apps.modules.inspection.schema import EXPRESSIONS, SCHEMA, Shape
from apps.modules.inspection.syntax import File

_COMMENT = "//"


def read_json_syntax(path: str, text: bytes) -> Reading:
    """The file's blocks, and what is wrong with it."""
    return _Reader(path, text.decode("utf-8")).read()


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self.text = text
        # One byte for each character, so that offsets in characters are good for it.
        self.file = File(path, text.encode("ascii", "replace"))
        self.reading = Reading()

    def read(self) -> Reading:
        try:
            document = read_json(self.text)
            for member in self.members(document):
                if member.key == "locals":
                    self.reading.locals += [
                        (one.key, self.file.note(one.start, f"local.{one.key}")) for one in self.members(member.value)
                    ]
                shape = SCHEMA.get(member.key)
                if shape is not None:
                    self.reading.blocks += self.blocks(member, shape)
        except BadJson as error:
            note = self.file.note(error.offset, f"not read: {error}")
            self.reading = Reading(notes=[note], is_complete=False, fault=None if self.is_json() else note)
        return self.reading

    def is_json(self) -> bool:
        """Whether a reader that is more lenient than ours takes it: then some client may."""
        try:
            json.loads(self.text, strict=False)
        except RecursionError:
            return True
        except ValueError:
            return False
        return True

    def members(self, value: Located) -> Iterator[Member]:
        """Of an object, or of each object of a list: two ways to write the same."""
        for item in value.content if value.kind == "[" else [value]:
            if item.kind != "{":
                raise BadJson(item.start, "an object is missing here")
            yield from (member for member in item.content if member.key != _COMMENT)

    def blocks(self, member: Member, shape: Shape) -> Iterator[Block]:
        """All blocks of a kind: below it lie the labels, each a member, and at last the bodies."""
        levels: list[tuple[tuple[str, ...], Member]] = [((), member)]
        for _ in range(shape.labels):
            levels = [((*labels, inner.key), inner) for labels, outer in levels for inner in self.members(outer.value)]
        for labels, holder in levels:
            if "" in labels:
                raise BadJson(holder.start, "a name is missing here")
            for body in holder.value.content if holder.value.kind == "[" else [holder.value]:
                yield self.block(member.key, labels, holder.start, body, shape)

    def block(self, kind: str, labels: tuple[str, ...], at: int, body: Located, shape: Shape) -> Block:
        attributes: dict[str, Value] = {}
        blocks: list[Block] = []
        for member in self.members(body):
            if member.key in shape.blocks:
                blocks += self.blocks(member, shape.blocks[member.key])
            elif shape.keeps(member.key):
                fault = self.fault(member, attributes)
                if fault:
                    self.reading.warn(self.file.note(member.start, fault))
                unknown = Value(self.file.line(member.start), known=False)
                attributes[member.key] = unknown if fault else self.attribute(member, shape)
        return Block(kind, labels, self.file.path, self.file.line(at), self.file.column(at), attributes, tuple(blocks))

    def fault(self, member: Member, attributes: Mapping[str, Value]) -> str:
        if member.key in attributes:
            return f"{member.key} is set a second time, so which one holds is unknown"
        if member.value.end - member.value.start > MOST_VALUE_BYTES:
            return f"not shown: this value is longer than {MOST_VALUE_BYTES} bytes"
        return ""

    def attribute(self, member: Member, shape: Shape) -> Value:
        found = self.value(member.value, with_entries=shape.every_attribute)
        if member.key in EXPRESSIONS and member.value.kind == "string":
            return replace(found, source=member.value.content)
        return found

    def value(self, found: Located, *, with_entries: bool = False) -> Value:
        entries = None
        if with_entries and found.kind == "{":
            entries = {member.key: self.value(member.value) for member in self.members(found)}
        return Value(
            line=self.file.line(found.start),
            source=self.source(found),
            literal=_literal(found),
            references=_references(found),
            entries=entries,
        )

    def source(self, found: Located) -> str:
        source = self.text[found.start : found.end]
        return literals.outdented(source, self.file.indentation(found.start)) if "\n" in source else source


def _references(found: Located) -> tuple[str, ...]:
    parts = found.content if found.kind == "[" else [found]
    return tuple(part.content for part in parts if part.kind == "string")


def _literal(found: Located) -> Any:
    """As JSON, or NOT_LITERAL. Children come before their parents, so nothing recurses."""
    try:
        order, waiting = [], [found]
        while waiting:
            item = waiting.pop()
            order.append(item)
            waiting += [part.value if isinstance(part, Member) else part for part in _parts(item)]
        done: dict[int, Any] = {}
        for item in reversed(order):
            done[id(item)] = _built(item, done)
    except literals.Undecodable:
        return NOT_LITERAL
    return done[id(found)]


def _parts(item: Located) -> list[Any]:
    return item.content if item.kind in ("{", "[") else []


def _built(item: Located, done: dict[int, Any]) -> Any:
    if item.kind == "{":
        return {_string(member.key): done[id(member.value)] for member in item.content}
    if item.kind == "[":
        return [done[id(part)] for part in item.content]
    if item.kind == "string":
        return _string(item.content)
    return literals.number(item.content) if item.kind == "number" else item.content


def _string(text: str) -> str:
    if literals.begins_template(text):
        raise literals.Undecodable("a template")
    return literals.undoubled(text)
