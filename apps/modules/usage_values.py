"""Values as people enter them: read as HCL literals, checked against the type of their input, never evaluated.

A text that begins with `=` is an expression: it is taken as it is, if its quotes and brackets are complete.
Values are written as HCL, formatted as `tofu fmt` and `terraform fmt` do.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.lib.errors import Invalid
from apps.modules.comparing.types import Type

LONGEST = 8 * 1024
DEPTH = 30
_SPACE = re.compile(r"(?:\s+|#[^\n]*|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_TEMPLATE = re.compile(r"(?<!\$)\$\{|(?<!%)%\{")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
_IN_CODE = re.compile(r'["()\[\]{}#\n]|//|/\*|<<')
_IN_TEXT = re.compile(r'\\[\s\S]|["\n]|\$\$\{|%%\{|\$\{|%\{')
_SURROGATES = range(0xD800, 0xE000)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
WIDEST = 80  # of a list on one line
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_QUOTED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TO_QUOTE = re.compile(r'["\\\0-\x1f\x7f-\x9f\u2028\u2029]|\$(?=\{)|%(?=\{)')


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
    """Of a type that nobody knows before it is evaluated."""

    text: str


Value = Scalar | Items | Object | Expression
NULL = Scalar("null")


def read(text: str, kind: Type) -> Value:
    """What was entered for an input of that type. Raises Invalid, also for a value of another type."""
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
    reader = _Reader(text)
    value = reader.value(0)
    if reader.rest():
        raise _unreadable(reader.rest())
    return value


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


def _unreadable(rest: str) -> Invalid:
    shown = " ".join(rest.split())[:30]
    found = repr(shown) if shown else "the end"
    return Invalid(
        f'found {found}, expected a value as in HCL: "text", 12, true, ["a", "b"] or {{ name = "x" }}',
        hint="Start with = to write an expression.",
    )


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._skip()

    def rest(self) -> str:
        return self._text[self._at :]

    def value(self, depth: int) -> Value:
        if depth > DEPTH:
            raise Invalid(f"found more than {DEPTH} levels, expected fewer")
        if self._takes("["):
            return self._items(depth)
        if self._takes("{"):
            return self._object(depth)
        if found := self._match(_NUMBER):
            return Scalar("number", found)
        if self._text.startswith('"', self._at):
            return Scalar("string", self._string())
        begin = self._at
        word = self._match(_WORD)
        if word in ("true", "false"):
            return Scalar("bool", word == "true")
        if word == "null":
            return NULL
        self._at = begin
        raise _unreadable(self.rest())

    def _items(self, depth: int) -> Items:
        found = []
        while not self._takes("]"):
            found.append(self.value(depth + 1))
            if not self._takes(","):
                if not self._takes("]"):
                    raise _unreadable(self.rest())
                break
        return Items(found)

    def _object(self, depth: int) -> Object:
        found: dict[str, Value] = {}
        while not self._takes("}"):
            key = self._string() if self._text.startswith('"', self._at) else self._match(_WORD)
            if not key or not (self._takes("=") or self._takes(":")):
                raise _unreadable(self.rest())
            if key in found:
                raise Invalid(f"found {key} twice, expected each name once")
            found[key] = self.value(depth + 1)
            self._takes(",")
        return Object(found)

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None or _TEMPLATE.search(found[1]):
            raise _unreadable(self.rest())
        self._at = found.end()
        self._skip()
        return _ESCAPE.sub(_unescaped, found[1]).replace("$${", "${").replace("%%{", "%{")

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        self._skip()
        return found[0]

    def _takes(self, mark: str) -> bool:
        if not self._text.startswith(mark, self._at):
            return False
        self._at += len(mark)
        self._skip()
        return True

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if escape in _ESCAPES:
        return _ESCAPES[escape]
    code = int(escape[1:], 16) if len(escape) > 1 else -1
    if not 0 <= code <= sys.maxunicode or code in _SURROGATES:
        raise Invalid(f"found the escape \\{escape}, expected \\n, \\r, \\t, a quote, a backslash or \\u0041")
    return chr(code)


def quoted(text: str) -> str:
    """A string that is no template."""
    return f'"{_TO_QUOTE.sub(_escaped, text)}"'


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
        named = ((key if _NAME.fullmatch(key) else quoted(key), one) for key, one in value.entries.items())
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
        text = quoted(text)
    elif value.kind == "bool":
        text = "true" if value.value else "false"
    return ["null" if value.kind == "null" else text]


def _escaped(found: re.Match[str]) -> str:
    mark = found[0]
    if mark in "$%":
        return mark * 2
    return _QUOTED.get(mark) or f"\\u{ord(mark):04x}"
