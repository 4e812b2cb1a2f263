"""Bodies and expressions of the JSON syntax: strings are templates, and hold what is no literal.

As in HCL's `json/structure.go`: a list of objects counts as one body, below a kind stand its labels, each a member, and
null is an empty body. `//` is a comment in a body, and a name among labels.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from apps.lib.hcl import literals
from apps.lib.hcl.bodies import Argument, Content, Expression, Inner, Sort, Traversal
from apps.lib.hcl.expressions import NativeExpression
from apps.modules.inspection import json_syntax
from apps.modules.inspection.json_syntax import Located, Member
from apps.modules.inspection.language.references import read_reference


class JsonBody:
    def __init__(self, value: Located) -> None:
        self.value = value

    @property
    def is_written(self) -> bool:
        return self.value.is_object or self.value.is_list

    def content(self, labels: dict[str, int], *, only_arguments: bool) -> Content:
        found = Content()
        if only_arguments and not self.value.is_object:
            found.problems.append((self.value.start, f"found {_what(self.value)}, expected an object"))
            return found
        for member in _members(self.value, found, "an object with arguments and blocks"):
            if member.key in labels and not only_arguments:
                found.blocks += _blocks(member, labels[member.key], found)
            elif member.key != json_syntax.COMMENT:
                found.arguments.append(Argument(member.key, member.start, JsonExpression(member.value)))
        return found


def _blocks(member: Member, labels: int, found: Content) -> Iterator[Inner]:
    """All blocks of a kind."""
    levels: list[tuple[tuple[str, ...], int, Located]] = [((), member.start, member.value)]
    for _ in range(labels):
        inside: list[tuple[tuple[str, ...], int, Located]] = []
        for outer, _, value in levels:
            named = list(_members(value, found, f"an object whose keys are labels of {member.key}"))
            if not named and (value.content is None or isinstance(value.content, list)):
                found.problems.append((value.start, f"found no label of {member.key}, expected an object with one"))
            inside += [((*outer, one.key), one.start, one.value) for one in named]
        levels = inside
    for names, at, value in levels:
        if value.is_object or value.is_list:
            for body in value.content if value.is_list else [value]:
                yield Inner(member.key, names, at, JsonBody(body))
        elif value.content is not None:
            found.problems.append((value.start, f"found {_what(value)}, expected an object: the body of {member.key}"))
            found.missing.append(value.start)


def _members(value: Located, found: Content, expected: str) -> Iterator[Member]:
    if value.content is None:
        return
    for item in value.content if value.is_list else [value]:
        if item.is_object:
            yield from item.content
        else:
            found.problems.append((item.start, f"found {_what(item)}, expected {expected}"))
            found.missing.append(item.start)


def _what(value: Located) -> str:
    if value.content is None:
        return "null"
    return "a list" if value.is_list else "a string" if json_syntax.is_string(value) else "a value"


class JsonExpression:
    is_quoted = False
    is_constant = True  # where clients evaluate nothing, they take a template for a plain string
    is_json = True

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
    def written(self) -> str:
        return self.located.written

    @property
    def size(self) -> int:
        return self.located.end - self.located.start

    @property
    def tokens(self) -> Sequence[str]:
        return [json.dumps(json_syntax.plain(self.located), ensure_ascii=False)]

    @property
    def sequence(self) -> NativeExpression | None:
        """The expression in a string that is nothing but `${…}`."""
        text = self._text or ""
        return NativeExpression.parsed(text[2:-1], self.at) if text.startswith("${") and text.endswith("}") else None

    @property
    def _text(self) -> str | None:
        return self.located.content if json_syntax.is_string(self.located) else None

    @cached_property
    def _held(self) -> NativeExpression | None:
        text = self._text
        return None if text is None else NativeExpression.parsed(text, self.at)

    def _parts(self) -> list["JsonExpression"]:
        if self.located.is_object:
            keys = [JsonExpression(member.name) for member in self.located.content]
            return [*keys, *(JsonExpression(member.value) for member in self.located.content)]
        return [JsonExpression(item) for item in self.located.content] if self.located.is_list else []

    @property
    def variables(self) -> Sequence[Traversal] | None:
        text = self._text
        if text is None:
            found: list[Traversal] = []
            for part in self._parts():
                inside = part.variables
                if inside is None:
                    return None
                found += inside
            return found
        if not literals.begins_template(text):
            return ()
        template = NativeExpression.parsed_template(text, self.at)
        return None if template is None else template.variables

    @property
    def literal(self) -> Any:
        return json_syntax.literal_or_none(self.located)

    @cached_property
    def value(self) -> Any:
        """The value where clients evaluate nothing: then "${…}" is no template."""
        return self.literal if self._text is None else self._text

    @property
    def sort(self) -> Sort:
        if self.located.is_object:
            return "object"
        if self.located.is_list:
            return "list"
        if self._text is not None:
            return "string"
        content = self.located.content
        return "null" if content is None else "bool" if isinstance(content, bool) else "number"

    @property
    def traversal(self) -> Traversal | None:
        return None if self._text is None else read_reference(self._text)

    @property
    def path(self) -> Traversal | None:
        return self._held.path if self._held else None

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
        return [(JsonExpression(member.name), JsonExpression(member.value)) for member in self.located.content]

    def as_type(self) -> Expression:
        return self._held or self

    def as_reference(self) -> Expression | None:
        return self._held
