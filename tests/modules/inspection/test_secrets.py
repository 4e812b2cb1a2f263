"""The default of a sensitive variable is nowhere in the document, however its block says so."""

import json

from tests.modules.inspection.inspections import as_json, unit_of
from tests.rows import for_each_row

SECRET = "hunter2"
DECLARED = f'variable "x" {{\n  default = "{SECRET}"\n%s}}\n'
SENSITIVE = "  sensitive = true\n"

CASES = {
    "plain": {"main_tf": DECLARED % SENSITIVE},
    "quoted": {"main_tf": DECLARED % '  sensitive = "true"\n'},
    "by override": {"main_tf": DECLARED % "", "override_tf": f'variable "x" {{\n{SENSITIVE}}}\n'},
    "by an override in JSON": {
        "main_tf": DECLARED % "",
        "a_override_tf_json": as_json(variable={"x": {"sensitive": True}}),
    },
    "default by override": {
        "main_tf": f'variable "x" {{\n{SENSITIVE}}}\n',
        "override_tf": f'variable "x" {{\n  default = "{SECRET}"\n}}\n',
    },
    "JSON": {"main_tf_json": as_json(variable={"x": {"default": SECRET, "sensitive": True}})},
    "evaluated": {"main_tf": DECLARED % "  sensitive = var.y\n"},
    "null": {"main_tf": DECLARED % "  sensitive = null\n"},
    "a number": {"main_tf": DECLARED % "  sensitive = 1e+3\n"},
    "without its equals sign": {"main_tf": DECLARED % "  sensitive true\n"},
    "twice": {"main_tf": DECLARED % "  sensitive = false\n  sensitive = true\n"},
    "on the same line": {"main_tf": f'variable "x" {{\n  default = "{SECRET}" sensitive = true\n}}\n'},
    "behind an open string": {"main_tf": DECLARED % f'  description = "open\n{SENSITIVE}'},
    "behind an open bracket": {"main_tf": DECLARED % f"  type = list(\n{SENSITIVE}"},
    "behind the brace that ends too early": {
        "main_tf": f'variable "x" {{\n  default = "{SECRET}"\n  type = (\n}}\n{SENSITIVE}}}\n'
    },
    "before an open string": {"main_tf": f'variable "x" {{\n{SENSITIVE}  default = "{SECRET}\n}}\n'},
    "by a second declaration": {"main_tf": DECLARED % "", "more_tf": f'variable "x" {{\n{SENSITIVE}}}\n'},
    "by an override that is damaged": {
        "main_tf": DECLARED % "",
        "override_tf": 'variable "x" {\n  sensitive = tr"ue\n}\n',
    },
    "by an override that is no text": {
        "main_tf": DECLARED % "",
        "override_tf": b'variable "x" {\n sensitive = \xff\n}\n',
    },
    "by an override that is no JSON": {"main_tf": DECLARED % "", "override_tf_json": '{"variable": {'},
    "heredoc": {"main_tf": f'variable "x" {{\n{SENSITIVE}  default = <<EOT\n{SECRET}\nEOT\n}}\n'},
}


@for_each_row("files", CASES.values(), ids=CASES)
def test_no_secret_comes_out(files):
    unit = unit_of(**files)
    assert SECRET not in json.dumps([unit.parts, [one.as_dict() for one in unit.diagnostics]])
    for found in unit.parts["variables"]:
        assert found["default"] in ("(sensitive)", "(unknown)")
        assert "value" not in found
    assert unit.parts["variables"] or unit.diagnostics


@for_each_row("name", ["plain", "by override", "JSON", "evaluated", "null", "twice", "heredoc"])
def test_what_is_or_may_be_secret_says_so(name):
    (found,) = unit_of(**CASES[name]).parts["variables"]
    assert (found["default"], found["sensitive"], found["required"]) == ("(sensitive)", True, False)


def test_a_sensitive_variable_without_a_default_is_required_and_what_an_override_declares_open_is_shown():
    (bare,) = unit_of(f'variable "x" {{\n{SENSITIVE}}}\n').parts["variables"]
    assert (bare["default"], bare["sensitive"], bare["required"]) == (None, True, True)
    files = {"main_tf": DECLARED % SENSITIVE, "override_tf": 'variable "x" {\n  sensitive = false\n}\n'}
    (found,) = unit_of(**files).parts["variables"]
    assert (found["default"], found["sensitive"]) == (f'"{SECRET}"', False)
