"""The JSON syntax (`.tf.json`, `.tofu.json`) as blocks. A damaged file has none."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from apps.lib.hcl import literals
from apps.lib.hcl.files import MAX_DEPTH, NOT_LITERAL, File, Unreadable
from apps.modules.inspection.blocks import (
    EXPRESSIONS,
    LOCAL,
    MAX_VALUE_BYTES,
    REPETITIONS,
    Block,
    Reading,
    Shape,
    Value,
    schema_of,
)
from apps.modules.inspection.repetitions import repetition_in_json

_SPACE = re.compile(r"[ \t\r\n]*")
_CLOSING = {"{": "}", "[": "]"}
COMMENT = "//"


class Number(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Located:
    """`content` is a scalar, or the elements of a list, or the members of an object; offsets are in characters."""

    content: Any
    start: int
    end: int
    is_object: bool = False

    @property
    def is_list(self) -> bool:
        return isinstance(self.content, list) and not self.is_object


@dataclass(frozen=True, slots=True)
class Member:
    key: str
    start: int
    value: Located


def read_json(text: str) -> Located:
    """Raises Unreadable."""
    value = _located(text, _skip_space(text, 0), depth=0)
    end = _skip_space(text, value.end)
    if end < len(text):
        raise Unreadable(end, "there is text after the end of the document")
    return value


def _located(text: str, at: int, *, depth: int) -> Located:
    """MAX_DEPTH bounds the recursion."""
    opening = text[at : at + 1]
    if opening not in _CLOSING:
        return _located_scalar(text, at)
    if depth >= MAX_DEPTH:
        raise Unreadable(at, f"more than {MAX_DEPTH} nested brackets")
    content: list[Located | Member] = []
    end = _skip_space(text, at + 1)
    if text[end : end + 1] != _CLOSING[opening]:
        while True:
            item = _located_member(text, end, depth=depth) if opening == "{" else _located(text, end, depth=depth + 1)
            content.append(item)
            end = _skip_space(text, item.value.end if isinstance(item, Member) else item.end)
            if text[end : end + 1] != ",":
                break
            end = _skip_space(text, end + 1)
        if text[end : end + 1] != _CLOSING[opening]:
            raise Unreadable(end, f"a comma or {_CLOSING[opening]} is missing here")
    return Located(content, at, end + 1, is_object=opening == "{")


def _located_member(text: str, at: int, *, depth: int) -> Member:
    if text[at : at + 1] != '"':
        raise Unreadable(at, "a name in quotes is missing here")
    key = _located_scalar(text, at)
    end = _skip_space(text, key.end)
    if text[end : end + 1] != ":":
        raise Unreadable(end, "a colon is missing here")
    return Member(key.content, at, _located(text, _skip_space(text, end + 1), depth=depth + 1))


def _located_scalar(text: str, at: int) -> Located:
    try:
        content, end = _DECODER.raw_decode(text, at)
        if isinstance(content, str):
            content.encode()  # half a character is no text
    except ValueError as error:
        raise Unreadable(at, "a value is missing or not valid JSON here") from error
    if isinstance(content, str) and "\0" in content:
        raise Unreadable(at, "this string contains a NUL")
    return Located(content, at, end)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match  # noqa: S101  # it matches nothing as well
    return match.end()


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)  # NaN and Infinity, which Python's reader takes


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refuse)


def read_json_syntax(file: File) -> Reading:
    return _Reader(file.path, file.text.decode("utf-8")).read()


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self.text = text
        # One byte for each character, so that offsets in characters are good for it.
        self.file = File(path, text.encode("ascii", "replace"))
        self.reading = Reading()

    def read(self) -> Reading:
        schema = schema_of(self.file.path)
        try:
            document = read_json(self.text)
            self.reading.sound.append((self.file, document))
            for member in self.members(document):
                if member.key == "locals":
                    self.reading.blocks += [self.local(one) for one in self.members(member.value)]
                elif member.key in schema:
                    self.reading.blocks += self.blocks(member, schema[member.key])
        except Unreadable as error:
            found = self.file.diagnostic(error.offset, f"not read: {error}")
            fault = None if _is_lenient_json(self.text) else found
            return Reading(diagnostics=[found], is_complete=False, fault=fault)
        return self.reading

    def members(self, value: Located) -> Iterator[Member]:
        """Of an object, or of each object of a list: two ways to write the same. Null is an empty one."""
        for item in value.content if value.is_list else [value]:
            if item.is_object:
                yield from (member for member in item.content if member.key != COMMENT)
            elif item.content is not None:
                self.skip(item.start, "an object is missing here")

    def skip(self, at: int, problem: str) -> None:
        """The judge of the language says what that means to clients."""
        self.reading.is_complete = False
        self.reading.warn(self.file.diagnostic(at, f"not read: {problem}"))

    def blocks(self, member: Member, shape: Shape) -> Iterator[Block]:
        """All blocks of a kind: below it are the labels, each a member, and then the bodies."""
        levels: list[tuple[tuple[str, ...], Member]] = [((), member)]
        for _ in range(shape.labels):
            levels = [((*labels, inner.key), inner) for labels, outer in levels for inner in self.members(outer.value)]
        for labels, labelled in levels:
            if "" in labels:
                self.skip(labelled.start, "a name is missing here")
                continue
            for body in labelled.value.content if labelled.value.is_list else [labelled.value]:
                if body.is_object or body.is_list:
                    yield self.block(member.key, labels, labelled.start, body, shape)
                elif body.content is not None:
                    self.skip(body.start, "an object is missing here")

    def block(self, kind: str, labels: tuple[str, ...], at: int, body: Located, shape: Shape) -> Block:
        attributes: dict[str, Value] = {}
        blocks: list[Block] = []
        for member in self.members(body):
            if member.key in shape.blocks:
                blocks += self.blocks(member, shape.blocks[member.key])
            elif shape.keeps(member.key):
                problem = ""
                if member.key in attributes:
                    problem = f"{member.key} is set twice, so it is unclear which one applies"
                elif member.key not in REPETITIONS and member.value.end - member.value.start > MAX_VALUE_BYTES:
                    problem = f"not shown: this value is longer than {MAX_VALUE_BYTES} bytes"
                if problem:
                    self.reading.warn(self.file.diagnostic(member.start, problem))
                if member.key in REPETITIONS and not problem:
                    attributes[member.key] = repetition_in_json(self.file.line(member.start), plain(member.value))
                elif problem:
                    attributes[member.key] = Value(self.file.line(member.start), known=False)
                else:
                    attributes[member.key] = self.attribute(member, shape)
        return Block(kind, labels, self.file.path, self.file.line(at), self.file.column(at), attributes, tuple(blocks))

    def local(self, member: Member) -> Block:
        line, column = self.file.line(member.start), self.file.column(member.start)
        return Block(LOCAL, (member.key,), self.file.path, line, column)

    def attribute(self, member: Member, shape: Shape) -> Value:
        found = self.value(member.value, with_entries=shape.every_attribute)
        if member.key in EXPRESSIONS and is_string(member.value):
            return replace(found, source=member.value.content)
        return found

    def value(self, found: Located, *, with_entries: bool = False) -> Value:
        source = self.text[found.start : found.end]
        entries = None
        if with_entries and found.is_object:
            entries = {member.key: self.value(member.value) for member in self.members(found)}
        return Value(
            line=self.file.line(found.start),
            source=literals.outdented(source, self.file.indentation(found.start)) if "\n" in source else source,
            literal=literal_or_none(found),
            references=tuple(one.content for one in (found.content if found.is_list else [found]) if is_string(one)),
            entries=entries,
            is_quoted=is_string(found),
        )


def is_string(found: Located) -> bool:
    return isinstance(found.content, str) and not isinstance(found.content, Number)


def _is_lenient_json(text: str) -> bool:
    """Return whether another reader accepts the text: it knows half characters, NUL and any depth, as clients do."""
    try:
        json.loads(text, parse_constant=_refuse)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def literal_or_none(found: Located) -> Any:
    try:
        return _literal(found)
    except literals.Undecodable:
        return NOT_LITERAL


def plain(found: Located) -> Any:
    """Return the value as JSON, regardless of what clients make of its strings; numbers as they are written."""
    if found.is_object:
        return {member.key: plain(member.value) for member in found.content}
    return [plain(element) for element in found.content] if found.is_list else found.content


def _literal(found: Located) -> Any:
    """Return the value as JSON. Raises Undecodable unless all of it is literal."""
    if found.is_object:
        return {_string(member.key): _literal(member.value) for member in found.content}
    if found.is_list:
        return [_literal(element) for element in found.content]
    if isinstance(found.content, Number):
        return literals.number(found.content)
    return _string(found.content) if isinstance(found.content, str) else found.content


def _string(text: str) -> str:
    if literals.begins_template(text):
        raise literals.Undecodable("a template")
    return literals.undoubled(text)
