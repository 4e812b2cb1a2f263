"""Bodies and expressions of the JSON syntax: strings are templates, and hold what is no literal."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from apps.modules.inspection import json_syntax, literals
from apps.modules.inspection.json_syntax import Located, Member
from apps.modules.inspection.language.bodies import Argument, Content, Expression, Inner, Traversal
from apps.modules.inspection.language.native_bodies import NativeExpression

_WHOLE = re.compile(r"\s*\$\{([^{}]*)\}\s*")


class JsonBody:
    """`value` is an object, or a list of objects that count as one."""

    def __init__(self, value: Located) -> None:
        self.value = value

    def content(self, labels: dict[str, int], *, only_arguments: bool) -> Content:
        found = Content()
        for member in self._members(found):
            if member.key in labels and not only_arguments:
                found.blocks += _blocks(member, labels[member.key], found)
            else:
                found.arguments.append(Argument(member.key, member.start, JsonExpression(member.value)))
        return found

    def _members(self, found: Content) -> Iterator[Member]:
        for item in self.value.content if self.value.is_list else [self.value]:
            if item.is_object:
                yield from (member for member in item.content if member.key != json_syntax.COMMENT)
            else:
                found.problems.append((item.start, "found a value, expected an object"))


def _blocks(member: Member, labels: int, found: Content) -> Iterator[Inner]:
    """All blocks of a kind: below it are the labels, each a member, and then the bodies. Null is no block."""
    levels: list[tuple[tuple[str, ...], int, Located]] = [((), member.start, member.value)]
    for _ in range(labels):
        levels = [
            ((*outer, inner.key), inner.start, inner.value)
            for outer, _, value in levels
            for inner in _labelled(value, found)
        ]
    for names, at, value in levels:
        for body in value.content if value.is_list else [value]:
            if body.is_object:
                yield Inner(member.key, names, at, JsonBody(body))
            elif body.content is not None or value.is_list:
                found.problems.append((body.start, f"found a value, expected an object: the body of {member.key}"))


def _labelled(value: Located, found: Content) -> Iterator[Member]:
    for item in value.content if value.is_list else [value]:
        if item.is_object:
            yield from (member for member in item.content if member.key != json_syntax.COMMENT)
        elif item.content is not None or value.is_list:
            found.problems.append((item.start, "found a value, expected an object whose keys are names"))


class JsonExpression:
    is_quoted = False
    is_constant = True  # where clients evaluate nothing, they take a template for a plain string

    def __init__(self, value: Located) -> None:
        self.located = value

    @property
    def at(self) -> int:
        return self.located.start

    @property
    def source(self) -> str:
        content = self.located.content
        return content if isinstance(content, str) else json.dumps(content) if content is None else "a value"

    @property
    def _text(self) -> str | None:
        return self.located.content if json_syntax.is_string(self.located) else None

    @cached_property
    def _held(self) -> NativeExpression | None:
        text = self._text
        return None if text is None else NativeExpression.parsed(text, self.at)

    def _parts(self) -> list["JsonExpression"]:
        if self.located.is_object:
            return [JsonExpression(member.value) for member in self.located.content]
        return [JsonExpression(item) for item in self.located.content] if self.located.is_list else []

    def reads(self) -> bool:
        text = self._text
        if text is None:
            return any(part.reads() for part in self._parts())
        inside = _WHOLE.fullmatch(text)
        held = NativeExpression.parsed(inside[1], self.at) if inside else None
        return held.reads() if held else literals.begins_template(text)

    @cached_property
    def value(self) -> Any:
        """As it is where clients evaluate nothing: then "${…}" is no template."""
        return json_syntax.literal_or_none(self.located) if self._text is None else self._text

    @property
    def traversal(self) -> Traversal | None:
        return self._held.traversal if self._held else None

    @property
    def call(self) -> tuple[str, Sequence[Expression]] | None:
        return None

    @property
    def elements(self) -> Sequence["JsonExpression"] | None:
        return self._parts() if self.located.is_list else None

    @property
    def pairs(self) -> Sequence[tuple["JsonExpression", "JsonExpression"]] | None:
        if not self.located.is_object:
            return None
        return [
            (JsonExpression(Located(member.key, member.start, member.start)), JsonExpression(member.value))
            for member in self.located.content
        ]

    def as_type(self) -> Expression:
        return self._held or self
