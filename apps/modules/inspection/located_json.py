"""JSON with the place of every value."""

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from apps.modules.inspection.schema import MAX_DEPTH
from apps.modules.inspection.source import Unreadable

_SPACE = re.compile(r"[ \t\r\n]*")
_CLOSING = {"{": "}", "[": "]"}


class Number(str):
    """As it is written."""

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
    value = _value(text, _skip_space(text, 0), depth=0)
    end = _skip_space(text, value.end)
    if end < len(text):
        raise Unreadable(end, "there is text after the end of the document")
    return value


def _value(text: str, at: int, *, depth: int) -> Located:
    """MAX_DEPTH bounds the recursion."""
    opening = text[at : at + 1]
    if opening not in _CLOSING:
        return _scalar(text, at)
    if depth >= MAX_DEPTH:
        raise Unreadable(at, f"more than {MAX_DEPTH} nested brackets")
    content: list[Located | Member] = []
    end = _skip_space(text, at + 1)
    if text[end : end + 1] != _CLOSING[opening]:
        while True:
            item = _member(text, end, depth=depth) if opening == "{" else _value(text, end, depth=depth + 1)
            content.append(item)
            end = _skip_space(text, item.value.end if isinstance(item, Member) else item.end)
            if text[end : end + 1] != ",":
                break
            end = _skip_space(text, end + 1)
        if text[end : end + 1] != _CLOSING[opening]:
            raise Unreadable(end, f"a comma or {_CLOSING[opening]} is missing here")
    return Located(content, at, end + 1, is_object=opening == "{")


def _member(text: str, at: int, *, depth: int) -> Member:
    if text[at : at + 1] != '"':
        raise Unreadable(at, "a name in quotes is missing here")
    key = _scalar(text, at)
    end = _skip_space(text, key.end)
    if text[end : end + 1] != ":":
        raise Unreadable(end, "a colon is missing here")
    return Member(key.content, at, _value(text, _skip_space(text, end + 1), depth=depth + 1))


def _scalar(text: str, at: int) -> Located:
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
