"""What the values of arguments must be: one rule for each word in the table."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from apps.modules.inspection import literals
from apps.modules.inspection.blocks import NOT_LITERAL
from apps.modules.inspection.language import addresses, types
from apps.modules.inspection.language.bodies import Argument, Content, Expression, Traversal
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, ONLY_TERRAFORM, Clients

RESERVED_VARIABLES = frozenset(
    {"source", "version", "providers", "count", "for_each", "depends_on", "lifecycle", "locals", "provider", "_"}
)
_PROVIDER_KEYS = ("source", "version", "configuration_aliases")
_EVENTS = ("before_create", "after_create", "before_update", "after_update", "before_destroy", "after_destroy")
_REFERENCE = "a reference such as aws_instance.web"


class Place(Protocol):
    @property
    def at(self) -> int: ...

    @property
    def source(self) -> str: ...


Problem = tuple[Place, str, Clients]  # where, what is expected, who refuses


@dataclass(frozen=True, slots=True)
class Case:
    """An argument in its body. `outer`: the labels of the block around its block."""

    argument: Argument
    content: Content
    outer: tuple[str | None, ...]

    @property
    def value(self) -> Expression:
        return self.argument.expression

    def beside(self, name: str) -> Expression | None:
        """Another argument of the same block."""
        return next((one.expression for one in self.content.arguments if one.name == name), None)


@dataclass(frozen=True, slots=True)
class _Name:
    """The name of an argument as the place of a problem."""

    at: int
    source: str


def _text(case: Case) -> Iterator[Problem]:
    if case.value.elements is not None or case.value.pairs is not None:
        yield case.value, "a string", EVERY


def _words(case: Case) -> Iterator[Problem]:
    yield from _text(case)
    value = case.value.value
    if isinstance(value, str) and not value.strip():
        yield case.value, "a string that is not empty", ONLY_OPENTOFU


def _flag(case: Case) -> Iterator[Problem]:
    value = case.value.value
    is_collection = case.value.elements is not None or case.value.pairs is not None
    if is_collection or not types.converts(value, "bool"):
        yield case.value, "true or false", EVERY


def _flag_of_terraform(case: Case) -> Iterator[Problem]:
    for place, expected, refusing in _flag(case):
        yield place, expected, refusing & ONLY_TERRAFORM


def _type(case: Case) -> Iterator[Problem]:
    expression = case.value.as_type()
    if expression.is_quoted:
        yield case.value, "a type without quotes", EVERY
        return
    try:
        types.stated_in(case.content, expression)
    except types.WrongType as wrong:
        yield wrong.expression, str(wrong), EVERY


def _default(case: Case) -> Iterator[Problem]:
    stated, default = case.beside("type"), case.value
    if default.value is None:
        nullable = case.beside("nullable")
        if nullable is not None and nullable.value in (False, "false"):
            yield default, "a value, as nullable is false", EVERY
    if stated is None or default.value is None or not default.is_constant:
        return
    try:
        kind = types.stated_in(case.content, stated.as_type())
    except types.WrongType:
        return
    if problem := types.misfit(default, kind):
        yield default, f"a value of the type ({problem})", EVERY


def _condition(case: Case) -> Iterator[Problem]:
    if not case.value.reads():
        yield case.value, "a condition with a reference", EVERY


def _condition_of_variable(case: Case) -> Iterator[Problem]:
    """Since OpenTofu 1.9 and Terraform 1.9 it may refer to others too, but not only to others."""
    name = next(iter(case.outer), None)
    if name and not re.search(rf"\bvar\s*(?:\.\s*{re.escape(name)}(?![\w-])|\[)", case.value.source):
        yield case.value, f"a condition with a reference to var.{name}", EVERY


def _references(case: Case) -> Iterator[Problem]:
    elements = case.value.elements
    if elements is None:
        yield case.value, "a list of references", EVERY
        return
    for element in elements:
        # Also in quotes, as before version 0.12.
        is_reference = element.value is not NOT_LITERAL if element.is_quoted else element.traversal is not None
        if not is_reference:
            yield element, _REFERENCE, EVERY


def _list(case: Case) -> Iterator[Problem]:
    if case.value.elements is None:
        yield case.value, "a list", EVERY


def _some(case: Case) -> Iterator[Problem]:
    elements = case.value.elements
    if not elements:
        yield case.value, "a list of actions", EVERY


def _ignored(case: Case) -> Iterator[Problem]:
    if case.value.traversal == ("all",):
        return
    elements = case.value.elements
    if elements is None:
        yield case.value, "all, or a list of attributes", EVERY
    for element in elements or ():
        if element.value == "*":
            yield element, "all without a list, or names of attributes", EVERY
        elif element.traversal is None and not element.is_quoted:
            yield element, "an attribute of this resource", EVERY


def _keyword(*words: str) -> Callable[[Case], Iterator[Problem]]:
    def rule(case: Case) -> Iterator[Problem]:
        found = case.value.traversal
        text = found[0] if found and len(found) == 1 else case.value.value if case.value.is_quoted else None
        if text not in words:
            yield case.value, " or ".join(words), EVERY

    return rule


def _any_keyword(case: Case) -> Iterator[Problem]:
    if not case.value.traversal or len(case.value.traversal) != 1:
        yield case.value, "an edition such as TF2021", EVERY


def _events(case: Case) -> Iterator[Problem]:
    elements = case.value.elements
    if not elements:
        yield case.value, f"a list of {', '.join(_EVENTS)}", EVERY
    seen: set[Traversal] = set()
    for element in elements or ():
        found = element.traversal or ()
        if len(found) != 1 or found[0] not in _EVENTS:
            yield element, f"one of {', '.join(_EVENTS)}", EVERY
        elif found in seen:
            yield element, "each event once", EVERY
        seen.add(found)


def _alias(case: Case) -> Iterator[Problem]:
    value = case.value.value
    if isinstance(value, str) and not addresses.is_name(value):
        yield case.value, "a name", EVERY
    yield from _text(case)


def _provider(case: Case) -> Iterator[Problem]:
    yield from _provider_reference(case.value)


def _provider_reference(expression: Expression) -> Iterator[Problem]:
    if expression.is_quoted:
        # Both clients still take "aws.replica" in quotes, with a warning.
        value = expression.value
        parts = tuple(value.split(".")) if isinstance(value, str) else None
    else:
        parts = expression.traversal
        if parts is None and expression.source.endswith("]"):
            return  # OpenTofu: an instance of a provider with for_each
    if not parts or len(parts) > 3 or "[]" in parts[:2]:  # noqa: PLR2004  # name, alias, key
        yield expression, "a provider's name, or its name and alias (aws.replica)", EVERY
    elif len(parts) == 3:  # noqa: PLR2004
        refusing = ONLY_TERRAFORM if parts[2] == "[]" else EVERY
        yield expression, "a provider's name, or its name and alias (aws.replica)", refusing
    elif expected := addresses.expected_provider_name(parts[0]):
        yield expression, expected, EVERY


def _providers(case: Case) -> Iterator[Problem]:
    pairs = case.value.pairs
    if pairs is None:
        yield case.value, "an object, as in { aws = aws.replica }", EVERY
        return
    seen = set()
    for key, value in pairs:
        problems = [*_provider_reference(key), *_provider_reference(value)]
        yield from problems
        if not problems and key.source in seen:
            yield key, "each provider once", EVERY
        seen.add(key.source)


def _constraint(case: Case) -> Iterator[Problem]:
    yield from _constraint_text(case.value)


def _evaluated_constraint(case: Case) -> Iterator[Problem]:
    if not _is_template(case.value.value):
        yield from _constraint(case)


def _is_template(value: object) -> bool:
    return isinstance(value, str) and literals.begins_template(value)


def _core_constraint(case: Case) -> Iterator[Problem]:
    """OpenTofu ignores a constraint that it cannot read."""
    for place, expected, refusing in _constraint(case):
        yield place, expected, refusing & ONLY_TERRAFORM


def _constraint_text(expression: Expression) -> Iterator[Problem]:
    value = expression.value
    if expression.elements is not None or expression.pairs is not None:
        yield expression, "a version constraint in quotes", EVERY
    elif isinstance(value, str) and (expected := addresses.expected_constraint(value)):
        yield expression, expected, EVERY


def _source(case: Case) -> Iterator[Problem]:
    value, version = case.value.value, case.beside("version")
    yield from _text(case)
    if version is not None and version.value is None:
        return  # null: as if it were not set
    if _is_template(value):
        return
    if isinstance(value, str) and (expected := addresses.expected_source(value, has_version=version is not None)):
        yield case.value, expected, EVERY


def _required_provider(case: Case) -> Iterator[Problem]:
    name, value = case.argument.name, case.value
    if expected := addresses.expected_provider_name(name):
        yield _Name(case.argument.at, name), expected, EVERY
    pairs = value.pairs
    if pairs is None:
        if value.elements is not None or not value.is_constant:
            yield value, "an object with source and version, or a version constraint", EVERY
        else:
            yield from _constraint_text(value)
        return
    for key, inner in pairs:
        words = key.traversal
        word = words[0] if words and len(words) == 1 else key.value
        if word == "configuration_aliases":
            yield from _aliases(inner, name)
        elif word in ("source", "version"):
            yield from _requirement(word, inner)
        elif isinstance(word, str):
            yield key, f"one of {', '.join(_PROVIDER_KEYS)}", EVERY


def _requirement(word: str, expression: Expression) -> Iterator[Problem]:
    value = expression.value
    if isinstance(value, str) and expression.is_constant:
        expected = (addresses.expected_provider_source if word == "source" else addresses.expected_constraint)(value)
        if expected:
            yield expression, expected, EVERY
    elif value is not NOT_LITERAL or not expression.is_constant:
        yield expression, "a string", EVERY


def _aliases(expression: Expression, name: str) -> Iterator[Problem]:
    elements = expression.elements
    if elements is None:
        yield expression, f"a list of references such as {name}.replica", EVERY
    for element in elements or ():
        found = element.traversal
        if not found or found[0] != name or len(found) > 2 or "[]" in found:  # noqa: PLR2004
            yield element, f"a reference such as {name}.replica", EVERY


def _constant(case: Case) -> Iterator[Problem]:
    if not case.value.is_constant:
        yield case.value, "a constant", EVERY


def _local(case: Case) -> Iterator[Problem]:
    if not addresses.is_name(case.argument.name):
        yield _Name(case.argument.at, case.argument.name), "a name: a letter or _, then letters, digits, _ and -", EVERY


def _moved(case: Case) -> Iterator[Problem]:
    found = case.value.traversal
    kind = _kind(found) if found else ""
    if not kind:
        yield case.value, "the address of a resource or module, such as aws_instance.web or module.network", EVERY
        return
    other = case.beside("to") if case.argument.name == "from" else None
    other_found = other.traversal if other is not None else None
    if other_found and _kind(other_found) not in ("", kind):
        yield case.value, f"the address of a {_kind(other_found)}, as to is", EVERY


def _kind(found: Sequence[str]) -> str:
    """What an address names: a resource, a module, or nothing."""
    rest = list(found)
    while rest[:1] == ["module"]:
        if len(rest) < 2 or rest[1] == "[]":  # noqa: PLR2004
            return ""
        rest = rest[3:] if rest[2:3] == ["[]"] else rest[2:]
        if not rest:
            return "module"
    if rest[:1] == ["data"]:
        rest = rest[1:]
    if "[]" in rest[:2]:
        return ""
    return "resource" if len(rest) == 2 or (len(rest) == 3 and rest[2] == "[]") else ""  # noqa: PLR2004


def _removed(case: Case) -> Iterator[Problem]:
    found = case.value.traversal
    if not found or not _kind(found) or "[]" in found or "data" in found[::2]:
        yield case.value, "the address of a resource or module, without keys", EVERY


def _imported(case: Case) -> Iterator[Problem]:
    if case.value.elements is not None or case.value.pairs is not None or case.value.is_quoted:
        yield case.value, "the address of a resource such as aws_instance.web", EVERY
    found = case.value.traversal
    if found and "data" not in found and _kind(found) != "resource":
        yield case.value, "the address of a resource such as aws_instance.web", EVERY


RULES: Mapping[str, Callable[[Case], Iterator[Problem]]] = {
    "text": _text,
    "words": _words,
    "flag": _flag,
    "flag_of_terraform": _flag_of_terraform,
    "type": _type,
    "output_type": _type,
    "default": _default,
    "condition": _condition,
    "condition_of_variable": _condition_of_variable,
    "references": _references,
    "list": _list,
    "some": _some,
    "ignored": _ignored,
    "when": _keyword("create", "destroy"),
    "destroy": _keyword("destroy"),
    "on_failure": _keyword("continue", "fail"),
    "trigger_failure": _keyword("halt", "taint", "continue"),
    "keyword": _any_keyword,
    "edition": _keyword("tofu2024"),
    "events": _events,
    "alias": _alias,
    "provider": _provider,
    "providers": _providers,
    "constraint": _constraint,
    "evaluated_constraint": _evaluated_constraint,
    "core_constraint": _core_constraint,
    "source": _source,
    "required_provider": _required_provider,
    "constant": _constant,
    "local": _local,
    "moved": _moved,
    "removed": _removed,
    "imported": _imported,
}
