"""Plain values: texts, flags, keywords, constraints.

A client evaluates them without variables and functions, and converts the result (HCL `gohcl/decode.go`).
"""

from collections.abc import Iterator

from apps.lib.hcl import literals
from apps.lib.hcl.bodies import Expression
from apps.lib.hcl.files import NOT_LITERAL
from apps.modules.inspection.language import addresses, types
from apps.modules.inspection.language.clients import EVERY, ONLY_OPENTOFU, ONLY_TERRAFORM
from apps.modules.inspection.language.references import read_reference
from apps.modules.inspection.language.rules.cases import Case, Name, Problem, Rule, Visited

COLLECTIONS = ("list", "object")


def text(case: Case) -> Iterator[Problem]:
    if case.value.sort in (*COLLECTIONS, "null"):
        yield case.value, "a string", EVERY


def words(case: Case) -> Iterator[Problem]:
    yield from text(case)
    value = case.value.value
    if isinstance(value, str) and not value.strip():
        yield case.value, "a string that is not empty", ONLY_OPENTOFU


def flag(case: Case) -> Iterator[Problem]:
    value = case.value.value
    if case.value.sort in (*COLLECTIONS, "null", "number") or not types.converts(value, "bool"):
        yield case.value, "true or false", EVERY


def flag_of_terraform(case: Case) -> Iterator[Problem]:
    for place, expected, refusing in flag(case):
        yield place, expected, refusing & ONLY_TERRAFORM


def constant(case: Case) -> Iterator[Problem]:
    if not case.value.is_constant:
        yield case.value, "a constant", EVERY
    yield from repeated_keys(case.value)


def repeated_keys(expression: Expression) -> Iterator[Problem]:
    """In JSON an object has each key once; in HCL the last one counts (HCL `json/structure.go`)."""
    if not expression.is_json:
        return
    seen = set()
    for key, value in expression.pairs or ():
        if key.source in seen:
            yield key, "each key once", EVERY
        seen.add(key.source)
        yield from repeated_keys(value)
    for element in expression.elements or ():
        yield from repeated_keys(element)


def keyword(*allowed: str, quoted: bool = False) -> Rule:
    """`quoted`: also in quotes, as before version 0.12."""

    def rule(case: Case) -> Iterator[Problem]:
        if word_of(case.value, quoted=quoted) not in allowed:
            yield case.value, " or ".join(allowed), EVERY

    return rule


def word_of(expression: Expression, *, quoted: bool = False) -> str | None:
    found = expression.traversal
    if found is None and quoted and expression.sort == "string" and isinstance(expression.value, str):
        found = read_reference(expression.value)
    return found[0] if found and len(found) == 1 else None


def language(case: Case) -> Iterator[Problem]:
    """OpenTofu ignores it."""
    if word_of(case.value) != "TF2021":
        yield case.value, "TF2021", ONLY_TERRAFORM


def experiments(case: Case) -> Iterator[Problem]:
    """Of a `terraform` block: no released Terraform has any, and OpenTofu ignores them."""
    yield case.value, "no experiments: released versions of Terraform have none", ONLY_TERRAFORM


def no_experiments(case: Case) -> Iterator[Problem]:
    """Of a `language` block: OpenTofu knows none."""
    if case.value.elements is None or len(case.value.elements) > 0:
        yield case.value, "an empty list: there are no experiments", EVERY


def constraint(case: Case) -> Iterator[Problem]:
    yield from constraint_text(case.value)


def evaluated_constraint(case: Case) -> Iterator[Problem]:
    if not is_template(case.value.value):
        yield from constraint(case)


def is_template(value: object) -> bool:
    return isinstance(value, str) and literals.begins_template(value)


def core_constraint(case: Case) -> Iterator[Problem]:
    """OpenTofu ignores a constraint that it cannot read."""
    for place, expected, refusing in constraint(case):
        yield place, expected, refusing & ONLY_TERRAFORM


def constraint_text(expression: Expression) -> Iterator[Problem]:
    value = expression.value
    if expression.sort in (*COLLECTIONS, "bool"):
        yield expression, "a version constraint in quotes", EVERY
    elif isinstance(value, int | float) and value is not NOT_LITERAL and value < 0:
        yield expression, "a version constraint such as >= 1.2.0, < 2.0.0", EVERY
    elif isinstance(value, str) and (expected := addresses.expected_constraint(value)):
        yield expression, expected, EVERY


def named_once(visited: Visited) -> Iterator[Problem]:
    """Blocks with labels, each name once (OpenTofu `internal/encryption/config`, DecodeConfig)."""
    seen = set()
    for inner in visited.content.blocks:
        name = (inner.kind, inner.labels)
        if inner.labels and name in seen:
            yield Name(inner.at, " ".join([inner.kind, *(label or "" for label in inner.labels)])), "each once", EVERY
        seen.add(name)
