"""Type constraints of inputs: whether a value that one accepts is accepted by another.

https://opentofu.org/docs/language/expressions/type-constraints/
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from apps.lib.errors import Invalid

# What never ends is taken up to the end: looking for its end at each quote took minutes, and anybody can publish that.
_BLANKS = re.compile(r"(?:\s|(?:#|//)[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))*")
_TOKEN = re.compile(r'[^\W\d][\w-]*|\d[\w.]*|"(?:\\.|[^"\\])*(?:"|\\?\Z)|\S', re.DOTALL)
_COLLECTIONS = ("list", "set", "map")
_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Type:
    """`any`, `string`, …; `inner` of a collection; the `attributes` of an object; the `elements` of a tuple."""

    name: str
    inner: "Type | None" = None
    attributes: dict[str, "Attribute"] = field(default_factory=dict)
    elements: tuple["Type", ...] = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`default` is that of an optional one, its parts separated by blanks; two types may be equal apart from them."""

    type: Type
    is_optional: bool
    default: str = field(default="", compare=False)


ANY = Type("any")


def parse(text: str) -> Type:
    """Read a type as an input declares it; an empty one is `any`. Raises Invalid for what is none."""
    text = text.strip().strip('"') if re.fullmatch(r'\s*"\w+"\s*', text) else text
    if not text.strip():
        return ANY
    reader = _Reader(text)
    found = reader.type(0)
    reader.end()
    return found


def accepts(new: Type, old: Type) -> bool:
    """Tell whether `new` takes every value that `old` takes, with the conversions that clients make."""
    return _accepts(new, old, vague=False)


def specifies(new: Type, old: Type) -> bool:
    """Tell whether `new` takes every value that `old` takes where that says more than `any` or a map's unnamed keys."""
    return _accepts(new, old, vague=True)


def provides(new: Type, old: Type) -> bool:
    """Tell whether a value of the type `new` has all that could be read from one of `old`. Nothing converts it."""
    if old.name != new.name or len(old.elements) > len(new.elements):
        return False
    return (
        all(
            name in new.attributes and provides(new.attributes[name].type, had.type)
            for name, had in old.attributes.items()
        )
        and all(provides(one, had) for one, had in zip(new.elements, old.elements, strict=False))
        and (old.inner is None or provides(_inner(new), old.inner))
    )


def lost_attributes(new: Type, old: Type) -> list[str]:
    """The attributes of objects that only `old` has, as paths such as `a.b`: clients drop what is given for them."""
    return [path for path, _, after in _attributes(new, old) if after is None]


def changed_defaults(new: Type, old: Type) -> list[tuple[str, str, str]]:
    """The attributes that are optional in both with another default: path, before, after."""
    return [
        (path, before.default, after.default)
        for path, before, after in _attributes(new, old)
        if after is not None and before.is_optional and after.is_optional and before.default != after.default
    ]


def _attributes(new: Type, old: Type, prefix: str = "") -> Iterator[tuple[str, Attribute, Attribute | None]]:
    """Each attribute of `old`, with that of `new` where the two types have the same shape."""
    if new.name == "object" and old.name == "object":
        for name, before in old.attributes.items():
            after = new.attributes.get(name)
            yield f"{prefix}{name}", before, after
            if after is not None:
                yield from _attributes(after.type, before.type, f"{prefix}{name}.")
    elif new.inner is not None and old.inner is not None:
        yield from _attributes(new.inner, old.inner, prefix)


def _accepts(new: Type, old: Type, *, vague: bool) -> bool:
    if new.name == "any" or new == old:
        return True
    if old.name == "any":
        return vague
    takes = _TAKES.get(new.name)
    return takes is not None and takes(new, old, vague)


def _string_accepts(_new: Type, old: Type, _vague: bool) -> bool:  # noqa: FBT001  # one of a table
    return old.name in ("number", "bool")


def _list_accepts(new: Type, old: Type, vague: bool) -> bool:  # noqa: FBT001
    """Also a set's: clients convert each of lists, sets and tuples into the others."""
    if old.name == "tuple":
        return all(_accepts(_inner(new), element, vague=vague) for element in old.elements)
    return old.name in ("list", "set") and _accepts(_inner(new), _inner(old), vague=vague)


def _map_accepts(new: Type, old: Type, vague: bool) -> bool:  # noqa: FBT001
    if old.name == "object":
        return all(_accepts(_inner(new), one.type, vague=vague) for one in old.attributes.values())
    return old.name == "map" and _accepts(_inner(new), _inner(old), vague=vague)


def _object_accepts(new: Type, old: Type, vague: bool) -> bool:  # noqa: FBT001
    """An attribute that `new` does not have is dropped by clients; one that it needs must have been needed before."""
    if old.name == "map" and vague:
        # It has one type for all its values: what was a number or a boolean stood in it as a string.
        value = _inner(old)
        return all(
            (value.name == "string" and wanted.type.name in ("number", "bool"))
            or _accepts(wanted.type, value, vague=True)
            for wanted in new.attributes.values()
        )
    if old.name != "object":
        return False
    for name, wanted in new.attributes.items():
        had = old.attributes.get(name)
        if (had is None or had.is_optional) and not wanted.is_optional:
            return False
        if had is not None and not _accepts(wanted.type, had.type, vague=vague):
            return False
    return True


def _tuple_accepts(new: Type, old: Type, vague: bool) -> bool:  # noqa: FBT001
    if old.name != "tuple" or len(new.elements) != len(old.elements):
        return False
    return all(_accepts(one, other, vague=vague) for one, other in zip(new.elements, old.elements, strict=True))


def _inner(collection: Type) -> Type:
    return collection.inner or ANY


_TAKES = {
    "string": _string_accepts,
    "list": _list_accepts,
    "set": _list_accepts,
    "map": _map_accepts,
    "object": _object_accepts,
    "tuple": _tuple_accepts,
}


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._next = next(self._tokens, "")

    def take(self, wanted: str = "") -> str:
        found = self._next
        if not found or (wanted and found != wanted):
            raise _no_type(found)
        self._next = next(self._tokens, "")
        return found

    def end(self) -> None:
        if self._next:
            raise _no_type(self._next)

    def type(self, depth: int) -> Type:
        name = self.take()
        if depth > _DEPTH or not name[0].isalpha():
            raise _no_type(name)
        if name in ("any", "string", "number", "bool"):
            return Type(name)
        if name in _COLLECTIONS:
            if self._next != "(":  # as before version 0.12
                return Type(name, ANY)
            self.take("(")
            inner = self.type(depth + 1)
            self._close(")")
            return Type(name, inner)
        if name == "object":
            return Type(name, attributes=self._object(depth))
        if name == "tuple":
            self.take("(")
            self.take("[")
            found = []
            while self._next != "]":
                found.append(self.type(depth + 1))
                if self._next == ",":
                    self.take()
            self.take("]")
            self._close(")")
            return Type(name, elements=tuple(found))
        raise _no_type(name)

    def _object(self, depth: int) -> dict[str, Attribute]:
        self.take("(")
        self.take("{")
        found: dict[str, Attribute] = {}
        while self._next != "}":
            name = self.take().strip('"')
            if self._next not in ("=", ":"):
                raise _no_type(self._next)
            self.take()
            found[name] = self._attribute(depth + 1)
            if self._next == ",":
                self.take()
        self.take("}")
        self._close(")")
        return found

    def _attribute(self, depth: int) -> Attribute:
        if self._next != "optional":
            return Attribute(self.type(depth), is_optional=False)
        self.take()
        self.take("(")
        inner = self.type(depth)
        if self._next == ",":
            self.take()
        # The default, whatever it is, up to the bracket that closes `optional(`. None is null.
        level, default = 0, []
        while self._next and not (level == 0 and self._next == ")"):
            level += (self._next in "([{") - (self._next in ")]}")
            default.append(self.take())
        self.take(")")
        return Attribute(inner, is_optional=True, default=" ".join(default) or "null")

    def _close(self, bracket: str) -> None:
        if self._next == ",":
            self.take()
        self.take(bracket)


def tokens(text: str) -> Iterator[str]:
    """Names, strings and single characters, without blanks and comments."""
    at = _end(_BLANKS, text, 0)
    while at < len(text):
        end = _end(_TOKEN, text, at)
        yield text[at:end]
        at = _end(_BLANKS, text, end)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else len(text)


def _no_type(found: str) -> Invalid:
    return Invalid(f"found {found[:40]!a}, expected a type such as list(string)", hint="See the type constraints.")
