"""Variables, outputs and local values: types, defaults and conditions (`named_values.go`, `checks.go`)."""

from collections.abc import Iterator

from apps.modules.inspection.language import addresses, types
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, since
from apps.modules.inspection.language.references import Mode, Subject, subject_of
from apps.modules.inspection.language.rules.cases import Case, Name, Problem, Visited
from apps.modules.inspection.language.rules.values import repeated_keys

RESERVED_VARIABLES = frozenset(
    {"source", "version", "providers", "count", "for_each", "depends_on", "lifecycle", "locals", "provider", "_"}
)
_MODES: dict[str, Mode] = {"resource": "managed", "data": "data", "ephemeral": "ephemeral"}


def type_(case: Case) -> Iterator[Problem]:
    expression = case.value.as_type()
    if expression.is_quoted:
        yield case.value, "a type without quotes", EVERY
        return
    try:
        types.stated_in(case.content, expression)
    except types.WrongType as wrong:
        yield wrong.expression, str(wrong), EVERY


def output_type(case: Case) -> Iterator[Problem]:
    """Without the short forms that variables still have (Terraform `named_values.go`, decodeOutputBlock)."""
    try:
        types.read_type(case.value.as_type())
    except types.WrongType as wrong:
        yield wrong.expression, str(wrong), EVERY


def implied_provider(visited: Visited) -> Iterator[Problem]:
    """The type of a resource begins with its provider's name, unless it says another (`provider_validation.go`)."""
    label = visited.found.labels[0] if visited.found.labels else None
    if label is None or not addresses.is_name(label) or visited.content.value("provider") is not None:
        return
    if addresses.expected_provider_name(label.partition("_")[0].lower()):
        refusing = ONLY_OPENTOFU if visited.found.kind == "ephemeral" else EVERY
        yield Name(visited.found.at, label), "a type that begins with the name of its provider", refusing


def default(case: Case) -> Iterator[Problem]:
    stated, value = case.beside("type"), case.value
    yield from repeated_keys(value)
    if value.value is None:
        nullable = case.beside("nullable")
        if nullable is not None and nullable.value in (False, "false"):
            yield value, "a value, as nullable is false", EVERY
    if stated is None or value.value is None or not value.is_constant:
        return
    try:
        kind = types.stated_in(case.content, stated.as_type())
    except types.WrongType:
        return
    if problem := types.misfit(value, kind):
        yield value, f"a value of the type ({problem})", EVERY


def condition(case: Case) -> Iterator[Problem]:
    if not case.value.variables:  # also if it is a template that cannot be parsed
        yield case.value, "a condition with a reference", EVERY


def condition_of_variable(case: Case) -> Iterator[Problem]:
    """Since OpenTofu 1.9 and Terraform 1.9 it may refer to others too, but not only to others."""
    around = case.visited.around
    name = around.found.labels[0] if around and around.found.labels else None
    variables = case.value.variables
    if name and Subject("var", (name,)) not in map(subject_of, variables or ()):
        yield case.value, f"a condition with a reference to var.{name}", EVERY


def not_itself(case: Case) -> Iterator[Problem]:
    """A condition of a resource refers to the resource as self (`checks.go`, validateSelfReferences)."""
    owner = case.visited.outer(2)
    if owner is None or owner.found.kind not in _MODES or len(owner.found.labels) != 2:  # noqa: PLR2004
        return
    kind, name = owner.found.labels
    itself = Subject("resource", (kind or "", name or ""), _MODES[owner.found.kind])
    if itself in map(subject_of, case.value.variables or ()):
        yield case.value, "self, as a condition must not refer to its own resource by its address", EVERY


def own_condition(case: Case) -> Iterator[Problem]:
    yield from condition(case)
    yield from not_itself(case)


def local(case: Case) -> Iterator[Problem]:
    if not addresses.is_name(case.argument.name):
        yield Name(case.argument.at, case.argument.name), "a name: a letter or _, then letters, digits, _ and -", EVERY


def constant_of_terraform(visited: Visited) -> Iterator[Problem]:
    """A constant variable is neither sensitive nor ephemeral there (Terraform 1.15)."""
    const = visited.content.value("const")
    if const is None or const.value not in (True, "true"):
        return
    for name in ("sensitive", "ephemeral"):
        other = visited.content.value(name)
        if other is not None and other.value in (True, "true"):
            yield other, f"no {name} where const is true", since(None, 15)
