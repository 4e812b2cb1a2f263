"""Values as HCL, formatted as `tofu fmt` and `terraform fmt` do."""

import re
from collections.abc import Iterable, Sequence

from apps.modules.usage.values import Expression, Items, Object, Scalar, Value

WIDEST = 80  # of a list on one line
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_QUOTED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TO_QUOTE = re.compile(r'["\\\0-\x1f\x7f-\x9f\u2028\u2029]|\$(?=\{)|%(?=\{)')


def quoted(text: str) -> str:
    """A string that is no template."""
    return f'"{_TO_QUOTE.sub(_escaped, text)}"'


def attributes(pairs: Iterable[tuple[str, Value]]) -> list[str]:
    """`name = value` in lines; the signs of neighbours that each take one line are below each other."""
    lines: list[str] = []
    group: list[tuple[str, str]] = []
    for name, value in pairs:
        first, *more = _lines(value)
        if more:
            lines += [*_aligned(group), f"{name} = {first}", *more]
            group = []
        else:
            group.append((name, first))
    return lines + _aligned(group)


def _aligned(group: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in group), default=0)
    return [f"{name:<{width}} = {text}" for name, text in group]


def _lines(value: Value) -> list[str]:
    if isinstance(value, Expression):
        return value.text.split("\n")
    if isinstance(value, Object):
        if not value.entries:
            return ["{}"]
        named = ((key if _NAME.fullmatch(key) else quoted(key), one) for key, one in value.entries.items())
        return ["{", *(f"  {line}" for line in attributes(named)), "}"]
    if isinstance(value, Items):
        return _items(value)
    return [_scalar(value)]


def _items(value: Items) -> list[str]:
    inner = [_lines(one) for one in value.items]
    if all(len(lines) == 1 for lines in inner):
        line = f"[{', '.join(lines[0] for lines in inner)}]"
        if len(line) <= WIDEST:
            return [line]
    lines = ["["]
    for one in inner:
        lines += [*(f"  {line}" for line in one[:-1]), f"  {one[-1]},"]
    return [*lines, "]"]


def _scalar(value: Scalar) -> str:
    if value.kind == "string":
        return quoted(str(value.value))
    if value.kind == "bool":
        return "true" if value.value else "false"
    return "null" if value.kind == "null" else str(value.value)


def _escaped(found: re.Match[str]) -> str:
    mark = found[0]
    if mark in "$%":
        return mark * 2
    return _QUOTED.get(mark) or f"\\u{ord(mark):04x}"
