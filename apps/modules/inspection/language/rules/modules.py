"""Calls of modules: their source and version (`module_call.go`)."""

from collections.abc import Iterator

from apps.modules.inspection.language.clients import EVERY, ONLY_TERRAFORM, since
from apps.modules.inspection.language.rules.cases import Case, Problem
from apps.modules.inspection.language.rules.providers import static
from apps.modules.inspection.language.rules.values import evaluated_constraint, is_template, text
from apps.modules.inspection.language.sources import expected_source


def source(case: Case) -> Iterator[Problem]:
    value, version = case.value.value, case.beside("version")
    yield from text(case)
    yield from static(case.value)
    if version is not None and version.value is None:
        return  # null: as if it were not set
    if case.value.sort in ("number", "bool"):
        yield case.value, "a module's source address", EVERY
    if is_template(value) and case.value.is_json:
        yield from _template(case)
    elif isinstance(value, str) and (expected := expected_source(value, has_version=version is not None)):
        yield case.value, expected, EVERY


def _template(case: Case) -> Iterator[Problem]:
    """A template in a string of JSON, which Terraform took for plain text before version 1.15."""
    yield case.value, "plain text: Terraform evaluates it since version 1.15", ONLY_TERRAFORM & ~since(None, 15)
    if case.value.variables is None:
        yield case.value, "a template that can be parsed", EVERY


def version(case: Case) -> Iterator[Problem]:
    yield from evaluated_constraint(case)
    if is_template(case.value.value) and case.value.is_json:
        yield from _template(case)
    if case.value.sort == "null":
        yield case.value, "a version constraint, or no version", since(None, 15)
    yield from static(case.value)
