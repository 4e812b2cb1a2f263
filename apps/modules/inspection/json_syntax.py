"""The text of a `.tf.json` or `.tofu.json` file as values that know where they are."""

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from apps.lib.hcl import literals
from apps.lib.hcl.files import MAX_DEPTH, NOT_LITERAL, Unreadable

_SPACE = re.compile(r"[ \t\r\n]*")
_CLOSING = {"{": "}", "[": "]"}
COMMENT = "//"


class Number(str):
    """A number as it is written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Located:
    """`content` is a scalar, or the elements of a list, or the members of an object; offsets are in characters of the
    `text`, which is that of the whole file.
    """

    content: Any
    start: int
    end: int
    text: str
    is_object: bool = False

    @property
    def is_list(self) -> bool:
        return isinstance(self.content, list) and not self.is_object

    @property
    def written(self) -> str:
        """The text without its indentation."""
        before = self.text[self.text.rfind("\n", 0, self.start) + 1 : self.start]
        return literals.outdented(self.text[self.start : self.end], before[: len(before) - len(before.lstrip(" \t"))])


@dataclass(frozen=True, slots=True)
class Member:
    key: str
    start: int
    value: Located

    @property
    def name(self) -> Located:
        return Located(self.key, self.start, self.start, self.value.text)


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
    return Located(content, at, end + 1, text, is_object=opening == "{")


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
    return Located(content, at, end, text)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match  # noqa: S101  # it matches nothing as well
    return match.end()


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)  # NaN and Infinity, which Python's reader takes


_DECODER = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=_refuse)


def is_string(found: Located) -> bool:
    return isinstance(found.content, str) and not isinstance(found.content, Number)


def is_lenient_json(text: str) -> bool:
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
