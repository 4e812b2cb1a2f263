"""Values as people enter them: read as HCL literals, checked against the type of their input, never evaluated.

A text that begins with `=` is an expression: it is taken as it is, if its quotes and brackets are complete.
Values are written as HCL, formatted as `tofu fmt` and `terraform fmt` do.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.lib.errors import Invalid
from apps.lib.hcl import bodies
from apps.lib.hcl.literals import written_string
from apps.lib.hcl.texts import parse
from apps.modules.inspection.language.types import Type

LONGEST = 8 * 1024
DEPTH = 30
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COMMENT = r"(?:#|//)[^\n]*|/\*(?:[^*]|\*(?!/))*\*/"
_STRING_OR_GAP = re.compile(rf'"(?:[^"\\\n]|\\.)*"|(?P<gap>(?:\s|{_COMMENT})+)|/\*|<<')
_LINE_END = re.compile(rf"{_COMMENT}|(?P<end>\n)")
_IN_CODE = re.compile(r'["()\[\]{}#\n]|//|/\*|<<')
_IN_TEXT = re.compile(r'\\[\s\S]|["\n]|\$\$\{|%%\{|\$\{|%\{')
_PAIRS = {"(": ")", "[": "]", "{": "}"}
WIDEST = 80  # of a list on one line
_NAME = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True, slots=True)
class Scalar:
    """`kind`: string, number, bool or null. `value` is a number's own text."""

    kind: str
    value: str | bool | None = None


@dataclass(frozen=True, slots=True)
class Items:
    items: list["Value"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Object:
    entries: dict[str, "Value"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expression:
    """A value whose type is unknown before it is evaluated."""

    text: str


Value = Scalar | Items | Object | Expression
NULL = Scalar("null")


def read(text: str, kind: Type) -> Value:
    """Read what was entered for an input of that type. Raises Invalid, also for a value of another type."""
    if len(text) > LONGEST:
        raise Invalid(f"found {len(text)} characters, expected at most {LONGEST}")
    text = text.strip() if kind.name != "string" or text.lstrip().startswith("=") else text
    if text.startswith("="):
        return _expression(text[1:].strip())
    value = Scalar("string", text) if kind.name == "string" else literal(text)
    if problem := next(problems(value, kind), ""):
        raise Invalid(problem)
    return value


def literal(text: str) -> Value:
    try:
        # Anybody may send it. Where there is an error, the parser's time grows with the square of the blanks.
        _, content = parse(f"x = {_STRING_OR_GAP.sub(_closed_up, text)}", what="value")
    except Invalid:
        raise _unreadable(text) from None
    if len(content.arguments) != 1 or content.blocks:
        raise _unreadable(text)
    return _literal(content.arguments[0].expression, 0)


def _closed_up(found: re.Match[str]) -> str:
    """One blank or line end for many of them, with their comments. Raises Invalid for a heredoc, or half a comment."""
    if found["gap"]:
        return "\n" if any(one["end"] for one in _LINE_END.finditer(found["gap"])) else " "
    if found[0] in ("/*", "<<"):
        raise _unreadable(found.string)
    return found[0]


def _literal(read: bodies.Expression, depth: int) -> Value:
    if depth > DEPTH:
        raise Invalid(f"found more than {DEPTH} levels, expected fewer")
    if read.elements is not None:
        return Items([_literal(one, depth + 1) for one in read.elements])
    if read.pairs is not None:
        entries: dict[str, Value] = {}
        for key, value in read.pairs:
            name = bodies.name_of(key)
            if name is None:
                raise _unreadable(key.source)
            if name in entries:
                raise Invalid(f"found {name} twice, expected each name once")
            entries[name] = _literal(value, depth + 1)
        return Object(entries)
    if _NUMBER.fullmatch(read.source):
        return Scalar("number", read.source)
    if read.value is None:
        return NULL
    if not isinstance(read.value, str | bool):
        raise _unreadable(read.source)
    return Scalar("string" if isinstance(read.value, str) else "bool", read.value)


def problems(value: Value, kind: Type, where: str = "") -> Iterator[str]:
    """Why clients would refuse the value: they convert numbers and booleans from and to strings."""
    if kind.name == "any" or value == NULL or isinstance(value, Expression):
        return
    place = f" at {where}" if where else ""
    if isinstance(value, Scalar):
        is_number = value.kind == "string" and bool(_NUMBER.fullmatch(str(value.value)))
        is_bool = value.kind == "string" and value.value in ("true", "false")
        converts = kind.name in (value.kind, "string") or (is_number if kind.name == "number" else is_bool)
        if not converts:
            yield f"found a {value.kind}{place}, expected {_named(kind)}"
    elif isinstance(value, Items):
        if kind.name == "tuple" and len(kind.elements) != len(value.items):
            yield f"found {len(value.items)} elements, expected {len(kind.elements)}{f' at {where}' if where else ''}"
        elif kind.name not in ("list", "set", "tuple"):
            yield f"found a list{f' at {where}' if where else ''}, expected {_named(kind)}"
        else:
            kinds = kind.elements or [kind.inner or Type("any")] * len(value.items)
            for position, (one, inner) in enumerate(zip(value.items, kinds, strict=True)):
                yield from problems(one, inner, f"{where}[{position}]")
    else:
        yield from _problems_of_object(value, kind, where)


def as_json(value: Value) -> Any:
    """Comparable with a default as JSON. An expression equals none."""
    if isinstance(value, Items):
        return [as_json(one) for one in value.items]
    if isinstance(value, Object):
        return {key: as_json(one) for key, one in value.entries.items()}
    if isinstance(value, Expression):
        return value
    return float(str(value.value)) if value.kind == "number" else value.value


def _problems_of_object(value: Object, kind: Type, where: str) -> Iterator[str]:
    place = f" at {where}" if where else ""
    if kind.name not in ("map", "object"):
        yield f"found an object{place}, expected {_named(kind)}"
        return
    for name, wanted in kind.attributes.items():
        if name not in value.entries and not wanted.is_optional:
            yield f"the attribute {name} is missing{place}"
    for name, one in value.entries.items():
        attribute = kind.attributes.get(name)
        if kind.name == "object" and attribute is None:
            yield f"the type has no attribute {name}{place}, so clients would ignore it"
            continue
        inner = attribute.type if attribute else kind.inner or Type("any")
        yield from problems(one, inner, f"{where}.{name}".lstrip("."))


def _named(kind: Type) -> str:
    article = "an" if kind.name == "object" else "a"
    return f"{article} {kind.name}"


def _expression(text: str) -> Value:
    """An expression that is complete in itself, so that it cannot change what surrounds it."""
    if text == "null":
        return NULL
    if not text:
        raise Invalid("found nothing after =, expected an expression such as var.name")
    inside: list[str] = []  # what ends each part that has begun
    position = 0
    while found := (_IN_TEXT if inside[-1:] == ['"'] else _IN_CODE).search(text, position):
        position = found.end()
        _step(inside, found[0])
    if inside:
        raise Invalid(f"found no {inside[-1]} at the end, expected complete brackets and quotes")
    return Expression(text)


def _step(inside: list[str], mark: str) -> None:
    if mark == '"':
        if inside[-1:] == [mark]:
            inside.pop()
        else:
            inside.append(mark)
    elif inside[-1:] == ['"']:
        if mark in ("${", "%{"):
            inside.append("}")
        elif mark == "\n":
            raise Invalid("found an unclosed quote, expected a closing quote on the same line")
    elif mark in _PAIRS:
        inside.append(_PAIRS[mark])
    elif mark in _PAIRS.values():
        if not inside or inside.pop() != mark:
            raise Invalid(f"found {mark} without an opening one, expected complete brackets")
    elif mark != "\n" or not inside:
        raise Invalid(f"found {mark!r}, expected an expression on one line, without comments")


def _unreadable(text: str) -> Invalid:
    shown = " ".join(text.split())[:60]
    found = repr(shown) if shown else "the end"
    backslash = " Write a backslash as \\\\." if "\\" in text else ""
    return Invalid(
        f'found {found}, expected a value as in HCL: "text", 12, true, ["a", "b"] or {{ name = "x" }}',
        hint=f"Start with = to write an expression.{backslash}",
    )


def attributes(pairs: Iterable[tuple[str, Value]]) -> list[str]:
    """`name = value` in lines; the signs of neighbours that each take one line are below each other."""
    lines: list[str] = []
    group: list[tuple[str, str]] = []
    for name, value in pairs:
        first, *more = _lines_of(value)
        if more:
            lines += [*_aligned(group), f"{name} = {first}", *more]
            group = []
        else:
            group.append((name, first))
    return lines + _aligned(group)


def _aligned(group: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in group), default=0)
    return [f"{name:<{width}} = {text}" for name, text in group]


def _lines_of(value: Value) -> list[str]:
    if isinstance(value, Expression):
        return value.text.split("\n")
    if isinstance(value, Object):
        if not value.entries:
            return ["{}"]
        named = ((key if _NAME.fullmatch(key) else written_string(key), one) for key, one in value.entries.items())
        return ["{", *(f"  {line}" for line in attributes(named)), "}"]
    if isinstance(value, Items):
        inner = [_lines_of(one) for one in value.items]
        if all(len(lines) == 1 for lines in inner):
            line = f"[{', '.join(lines[0] for lines in inner)}]"
            if len(line) <= WIDEST:
                return [line]
        lines = ["["]
        for one in inner:
            lines += [*(f"  {line}" for line in one[:-1]), f"  {one[-1]},"]
        return [*lines, "]"]
    text = str(value.value)
    if value.kind == "string":
        text = written_string(text)
    elif value.kind == "bool":
        text = "true" if value.value else "false"
    return ["null" if value.kind == "null" else text]
