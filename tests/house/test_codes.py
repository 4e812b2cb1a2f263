"""Reason codes and log events have one form and are never built: programs and alarms look for them."""

import ast
import re

from tests.house import sources

FORM = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
FILES = sources.python_files("apps", "registry_site")
LEVELS = {"debug", "info", "warning", "error", "critical", "exception"}
# Each takes the code of what it refuses first.
REFUSALS = {"Reason", "KeyRefused", "BadSignature", "_Fault", "refuse", "_refuse"}


def nodes(kind):
    return [(path, node) for path in FILES for node in ast.walk(sources.tree_of(path)) if isinstance(node, kind)]


def name_of(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_log(function):
    return isinstance(function, ast.Attribute) and function.attr in LEVELS and name_of(function.value) == "log"


def codes_of_calls():
    for path, call in nodes(ast.Call):
        named = [word.value for word in call.keywords if word.arg == "code"]
        if name_of(call.func) in REFUSALS and "registry_site" not in path.parts:
            named += call.args[:1]
        yield from ((path, code) for code in named)


def codes_of_classes():
    """Shapes of the API and rows have fields of that name, and no codes."""
    for path, node in nodes(ast.ClassDef):
        if {"Shape", "Model"} & set(map(name_of, node.bases)):
            continue
        for line in node.body:
            targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
            if any(getattr(target, "id", "") == "code" for target in targets) and line.value is not None:
                yield path, line.value


def choices(value):
    return [*choices(value.body), *choices(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def malformed(found):
    """Codes that are no constant, or in another form. A name or attribute refers to one written elsewhere, and an empty
    code is none.
    """
    every = [(path, value) for path, written in found for value in choices(written)]
    passed_on = ast.Name | ast.Attribute | ast.Starred
    return [
        f"{sources.name_of(path)}:{value.lineno} {ast.unparse(value)}"
        for path, value in every
        if not isinstance(value, passed_on)
        and not (
            isinstance(value, ast.Constant)
            and isinstance(value.value, str)
            and (value.value == "" or FORM.fullmatch(value.value))
        )
    ]


def test_codes_are_constants_in_snake_case():
    found = [*codes_of_calls(), *codes_of_classes()]

    assert malformed(found) == []
    assert len(found) > 150, "the walk finds them"


def test_log_events_are_constants_in_snake_case():
    found = [(path, call.args[0]) for path, call in nodes(ast.Call) if is_log(call.func)]

    assert [f"{sources.name_of(path)}:{value.lineno}" for path, value in found if isinstance(value, ast.Name)] == []
    assert malformed(found) == []
    assert len(found) > 50, "the walk finds them"
