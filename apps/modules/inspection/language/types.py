"""Type expressions, and literals that do not fit them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.lib.errors import Invalid
from apps.lib.hcl.bodies import Content, Expression, name_of
from apps.lib.hcl.expressions import NativeExpression
from apps.lib.hcl.files import NOT_LITERAL

_QUOTED = re.compile(r'"\w+"')  # as before version 0.12
PRIMITIVES = frozenset({"string", "number", "bool"})
COLLECTIONS = frozenset({"list", "set", "map"})
MAX_DEPTH = 100  # deeper types are not judged
# Text that clients may convert to a number: they know more forms than literals have.
_NUMERIC = re.compile(r"[+-]?[0-9.][0-9a-fxop_.+-]*|.*inf.*", re.IGNORECASE)
TYPES = "a type: string, number, bool, any, list(…), set(…), map(…), object({…}) or tuple([…])"


@dataclass(frozen=True, slots=True)
class Type:
    """`any`, also for what is not judged, `string`, …; `inner` of a collection; the `attributes` of an object; the
    `elements` of a tuple.
    """

    name: str
    inner: "Type | None" = None
    attributes: Mapping[str, "Attribute"] = field(default_factory=dict)
    elements: Sequence["Type"] = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`default` is that of an optional one; two types may be equal apart from them."""

    type: Type
    is_optional: bool
    default: Expression | None = field(default=None, compare=False)


ANY = Type("any")


class WrongType(Exception):
    def __init__(self, expression: Expression, expected: str) -> None:
        super().__init__(expected)
        self.expression = expression


def parse(text: str) -> Type:
    """Read a type as an input declares it; an empty one is `any`. Raises Invalid for what is none."""
    text = text.strip()
    if not text:
        return ANY
    expression = NativeExpression.parsed(text[1:-1] if _QUOTED.fullmatch(text) else text, 0, seconds=1)
    try:
        if expression is not None:
            return read_type(expression, is_bare=True)
    except WrongType as wrong:
        text = wrong.expression.source
    raise Invalid(f"found {text[:40]!a}, expected a type such as list(string)", hint="See the type constraints.")


def read_type(expression: Expression, *, depth: int = 0, is_bare: bool = False) -> Type:
    """Raises WrongType for what no client takes for a type. `is_bare`: also `list` and `map` without an element."""
    if depth > MAX_DEPTH:
        return ANY
    words = expression.traversal
    if words is not None:
        return _keyword(expression, words, is_bare=is_bare)
    return _called(expression, expression.call, depth)


def stated_in(content: Content, argument: Expression) -> Type:
    """Read the type like `read_type`, once for the rule of the type and that of the default."""
    if not content.stated:
        content.stated.append(read_type(argument, is_bare=True))
    kind: Type = content.stated[0]
    return kind


def _called(expression: Expression, called: tuple[str, Sequence[Expression]] | None, depth: int) -> Type:
    """`called`: the call that the expression is."""
    if depth > MAX_DEPTH:
        return ANY
    if called is None:
        raise WrongType(expression, TYPES)
    name, arguments = called
    if name not in COLLECTIONS | {"object", "tuple"}:
        raise WrongType(expression, "optional(…) only for an attribute of an object" if name == "optional" else TYPES)
    if len(arguments) != 1:
        raise WrongType(expression, f"{name}(…) with one argument")
    if name == "object":
        return _object(arguments[0], depth)
    if name == "tuple":
        elements = arguments[0].elements
        if elements is None:
            raise WrongType(arguments[0], "a list of types, as in tuple([string, number])")
        return Type(name, elements=[read_type(element, depth=depth + 1) for element in elements])
    return Type(name, read_type(arguments[0], depth=depth + 1))


def _keyword(expression: Expression, words: Sequence[str], *, is_bare: bool) -> Type:
    word = words[0]
    if len(words) > 1:
        raise WrongType(expression, TYPES)
    if word in PRIMITIVES:
        return Type(word)
    if word == "any":
        return ANY
    if word in ("list", "map") and is_bare:  # as before version 0.12
        return Type(word, ANY)
    raise WrongType(expression, f"{word}(…) with its type" if word in COLLECTIONS | {"object", "tuple"} else TYPES)


def _object(argument: Expression, depth: int) -> Type:
    pairs = argument.pairs
    if pairs is None:
        raise WrongType(argument, "attributes and their types, as in object({ name = string })")
    attributes: dict[str, Attribute] = {}
    for key, value in pairs:
        words = key.traversal
        if not words or len(words) != 1:
            raise WrongType(key, "the name of an attribute, without quotes")
        name = words[0]
        if name in attributes:
            raise WrongType(key, "each attribute once")
        called = value.call
        if called and called[0] == "optional":
            if not 1 <= len(called[1]) <= 2:  # noqa: PLR2004  # the type, and a default
                raise WrongType(value, "optional(…) with a type, and a default or none")
            kind = read_type(called[1][0], depth=depth + 1)
            default = called[1][1] if len(called[1]) == 2 else None  # noqa: PLR2004
            if default is not None:
                if not default.is_constant:
                    raise WrongType(default, "a constant: the default of an attribute cannot contain references")
                if problem := misfit(default, kind):
                    raise WrongType(default, f"a default that fits the type ({problem})")
            attributes[name] = Attribute(kind, is_optional=True, default=default)
        else:
            kind = _called(value, called, depth + 1) if called else read_type(value, depth=depth + 1)
            attributes[name] = Attribute(kind, is_optional=False)
    return Type("object", attributes=attributes)


def misfit(expression: Expression, kind: Type) -> str:
    """Why clients cannot convert the literal to the type; empty if they can, or if that is not sure."""
    return next(_misfits(expression, kind, ""), "")


def _misfits(expression: Expression, kind: Type, path: str) -> Iterator[str]:
    """Keys of maps are not named: with a sensitive variable they are part of a secret."""
    elements, pairs = expression.elements, expression.pairs
    # Of a list or an object nothing: what is in it is asked one by one.
    value = expression.value if elements is None and pairs is None else NOT_LITERAL
    what = path or "it"
    if kind.name == "any" or value is None:
        return
    sort = expression.sort
    if kind.name in PRIMITIVES:
        if sort in ("list", "object"):
            yield f"{what} is {'a list' if sort == 'list' else 'an object'}, not a {kind.name}"
        elif not converts(value, kind.name):
            yield f"{what} is not a {kind.name}"
    elif kind.name in ("object", "map"):
        if sort not in ("object", "", "null"):
            yield f"{what} is not {'an object' if kind.name == 'object' else 'a map'}"
        elif pairs is not None:
            yield from _pair_misfits(pairs, kind, path)
    elif sort not in ("list", "", "null"):
        yield f"{what} is not a list"
    elif elements is not None:
        yield from _element_misfits(elements, kind, path)


def _pair_misfits(pairs: Sequence[tuple[Expression, Expression]], kind: Type, path: str) -> Iterator[str]:
    if kind.inner is not None:
        for _, value in pairs:
            yield from _misfits(value, kind.inner, f"{path}[…]")
        return
    named: dict[str, Expression] = {}
    for key, value in pairs:
        name = name_of(key)
        if name is None:
            return
        named[name] = value
    for name, attribute in kind.attributes.items():
        if name in named:
            yield from _misfits(named[name], attribute.type, f"{path}.{name}".lstrip("."))
        elif not attribute.is_optional:
            yield f"{path + ': ' if path else ''}the attribute {name} is missing"


def _element_misfits(elements: Sequence[Expression], kind: Type, path: str) -> Iterator[str]:
    if kind.inner is None and len(elements) != len(kind.elements):
        yield f"{path or 'it'} has {len(elements)} elements, not {len(kind.elements)}"
        return
    for at, element in enumerate(elements):
        inner = kind.inner or kind.elements[at]
        yield from _misfits(element, inner, f"{path}[{at}]")


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bool | int | float)


def converts(value: Any, kind: str) -> bool:
    """Return whether clients convert the scalar, which may be unknown, to the primitive type."""
    if kind == "string" or not _is_scalar(value):
        return True
    if kind == "bool":
        return isinstance(value, bool) or (isinstance(value, str) and value in ("true", "false", "1", "0"))
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return bool(_NUMERIC.fullmatch(value))
    return True
