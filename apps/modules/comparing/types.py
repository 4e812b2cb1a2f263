"""Type constraints of inputs: whether a value that one accepts is accepted by another.

https://opentofu.org/docs/language/expressions/type-constraints/
"""

from collections.abc import Iterator

from apps.modules.inspection.language.types import ANY, Attribute, Type


def accepts(new: Type, old: Type) -> bool:
    """Return whether `new` takes every value that `old` takes, with the conversions that clients make."""
    return _accepts(new, old, vague=False)


def specifies(new: Type, old: Type) -> bool:
    """Return whether `new` takes every value that `old` takes where that says more than `any` or a map's unnamed
    keys.
    """
    return _accepts(new, old, vague=True)


def provides(new: Type, old: Type) -> bool:
    """Return whether a value of the type `new` has all that could be read from one of `old`. Nothing converts it."""
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
        (path, *texts)
        for path, before, after in _attributes(new, old)
        if after is not None and before.is_optional and after.is_optional
        if len(set(texts := (_default(before), _default(after)))) > 1
    ]


def _default(attribute: Attribute) -> str:
    """Its parts, separated by blanks."""
    return " ".join(attribute.default.tokens) if attribute.default is not None else "null"


def is_vague(kind: Type) -> bool:
    """Return whether `any` is a part of it."""
    inside = [*kind.elements, *(one.type for one in kind.attributes.values()), *filter(None, [kind.inner])]
    return kind.name == "any" or any(map(is_vague, inside))


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
