"""Providers: their configurations, references to them and requirements (`provider.go`, `provider_requirements.go`)."""

from collections.abc import Iterator

from apps.lib.hcl.bodies import KEY, ODD_KEY, Expression
from apps.modules.inspection.language import addresses
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, ONLY_TERRAFORM, since
from apps.modules.inspection.language.references import subject_of
from apps.modules.inspection.language.rules.cases import Case, Name, Problem, Visited
from apps.modules.inspection.language.rules.resources import static_reference
from apps.modules.inspection.language.rules.values import COLLECTIONS, constraint_text, text

_PROVIDER_KEYS = ("source", "version", "configuration_aliases")
_REFERENCE = "a provider's name, or its name and alias (aws.replica)"
# What OpenTofu evaluates when it loads a module (`static_scope.go`).
STATIC = frozenset({"var", "local", "path", "terraform", "tofu"})


def alias(case: Case) -> Iterator[Problem]:
    value = case.value.value
    if case.value.sort == "number" or (isinstance(value, str) and not addresses.is_name(value)):
        yield case.value, "a name", EVERY
    yield from text(case)


def provider(case: Case) -> Iterator[Problem]:
    yield from provider_reference(case.value)


def provider_reference(expression: Expression) -> Iterator[Problem]:
    """`resource.go`, decodeProviderConfigRef. In quotes, as before version 0.12, both clients still take it."""
    held = expression.as_reference()
    if held is None:
        yield expression, _REFERENCE, EVERY
        return
    parts = static_reference(held)
    refusing = EVERY
    if parts is None and held.path is not None:
        # OpenTofu takes an instance of a provider with for_each, also by a key that must be evaluated.
        parts, refusing = held.path, EVERY
        if parts[-1:] != (KEY,) or parts.count(KEY) != 1:
            yield expression, _REFERENCE, EVERY
            return
    if parts == ():
        return
    if parts is None or len(parts) > 3 or {KEY, ODD_KEY} & set(parts[:2]):  # noqa: PLR2004  # name, alias, key
        yield expression, _REFERENCE, EVERY
    elif expected := addresses.expected_provider_name(parts[0]):
        yield expression, expected, EVERY
    elif len(parts) == 3:  # noqa: PLR2004
        yield expression, _REFERENCE, refusing if parts[2] not in (KEY, ODD_KEY) else ONLY_TERRAFORM


def providers(case: Case) -> Iterator[Problem]:
    pairs = case.value.pairs
    if pairs is None:
        yield case.value, "an object, as in { aws = aws.replica }", EVERY
    seen = set()
    for key, value in pairs or ():
        problems = [*provider_reference(key), *provider_reference(value)]
        yield from problems
        if not problems and key.source in seen:
            yield key, "each provider once", EVERY
        seen.add(key.source)
        held = key.as_reference()
        if held is not None and held.path is not None and held.path[-1:] == (KEY,):
            yield key, "a provider of the called module without a key", ONLY_OPENTOFU


def instances(case: Case) -> Iterator[Problem]:
    """`for_each` of a provider in OpenTofu, which evaluates it when it loads the module."""
    value = case.value
    if value.sort in ("string", "number", "bool", "null", "list"):
        yield value, "a map, or a set of strings", EVERY
    yield from static(value)


def static(expression: Expression) -> Iterator[Problem]:
    """Yield a problem if an expression that is evaluated on loading refers to something that exists only later."""
    for found in expression.variables or ():
        subject = subject_of(found)
        if subject is None or subject.kind not in STATIC:
            yield expression, "only variables, local values and path, as it is evaluated on loading", EVERY
            return


def alias_for_instances(visited: Visited) -> Iterator[Problem]:
    repeated = visited.content.value("for_each")
    if repeated is not None and visited.content.value("alias") is None:
        yield repeated, "an alias beside it", ONLY_OPENTOFU


def required_provider(case: Case) -> Iterator[Problem]:
    name, value = case.argument.name, case.value
    pairs = value.pairs
    if expected := addresses.expected_provider_name(name if pairs is not None else name.lower()):
        yield Name(case.argument.at, name), expected, EVERY
    if pairs is None:
        if value.sort in ("list", "object", "null") or not value.is_constant:
            yield value, "an object with source and version, or a version constraint", EVERY
        else:
            yield from constraint_text(value)
        return
    for key, inner in pairs:
        words = key.traversal
        word = words[0] if words and len(words) == 1 and not key.source.startswith("(") else key.value
        if word == "configuration_aliases":
            yield from _aliases(inner, name)
        elif word in ("source", "version"):
            yield from _requirement(word, inner)
        elif isinstance(word, str) or not key.is_constant or key.sort not in ("", "string"):
            yield key, f"one of {', '.join(_PROVIDER_KEYS)}", EVERY


def _requirement(word: str, expression: Expression) -> Iterator[Problem]:
    value = expression.value
    if not expression.is_constant or expression.sort in (*COLLECTIONS, "number", "bool", "null"):
        yield expression, "a string", EVERY
    elif isinstance(value, str) and word == "version":
        if expected := addresses.expected_constraint(value):
            yield expression, expected, EVERY
    elif isinstance(value, str) and (expected := addresses.expected_provider_source(value)):
        is_newer = not addresses.expected_provider_source(value, is_newer=True)
        yield expression, expected, EVERY & ~since(None, 16) if is_newer else EVERY


def _aliases(expression: Expression, name: str) -> Iterator[Problem]:
    elements = expression.elements
    if elements is None:
        yield expression, f"a list of references such as {name}.replica", EVERY
    for element in elements or ():
        found = element.traversal
        if not found or found[0] != name or len(found) > 2 or {KEY, ODD_KEY} & set(found):  # noqa: PLR2004
            yield element, f"a reference such as {name}.replica", EVERY
