"""Type constraints of inputs: whether a value that one accepts is accepted by another.

https://opentofu.org/docs/language/expressions/type-constraints/
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from apps.lib.errors import Invalid

_TOKEN = re.compile(r'\s*(?:(?:#|//)[^\n]*\n|/\*.*?\*/)*\s*([^\W\d][\w-]*|"(?:\\.|[^"\\])*"|[^\w\s])', re.DOTALL)
_OTHER = re.compile(r"\s*(\S)")
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
    type: Type
    is_optional: bool


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
        return all(_accepts(wanted.type, _inner(old), vague=vague) for wanted in new.attributes.values())
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
        self._tokens = _tokens(text)
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
            return Type(name, elements=self._tuple(depth))
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
        found = Attribute(self.type(depth), is_optional=True)
        self._skip_default()
        self.take(")")
        return found

    def _skip_default(self) -> None:
        """Whatever the default is, up to the bracket that closes `optional(`."""
        depth = 0
        while self._next and not (depth == 0 and self._next == ")"):
            depth += (self._next in "([{") - (self._next in ")]}")
            self.take()

    def _tuple(self, depth: int) -> tuple[Type, ...]:
        self.take("(")
        self.take("[")
        found = []
        while self._next != "]":
            found.append(self.type(depth + 1))
            if self._next == ",":
                self.take()
        self.take("]")
        self._close(")")
        return tuple(found)

    def _close(self, bracket: str) -> None:
        if self._next == ",":
            self.take()
        self.take(bracket)


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None:
            found = _OTHER.match(text, at)  # a digit of a default
            if found is None:
                return
        yield found[1]
        at = found.end()


def _no_type(found: str) -> Invalid:
    return Invalid(f"found {found[:40]!a}, expected a type such as list(string)", hint="See the type constraints.")
