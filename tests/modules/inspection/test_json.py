"""The JSON syntax says the same as the native one: more of it is in test_constructs.py."""

import json

from tests.modules.inspection.inspections import as_json, messages, unit_of
from tests.rows import for_each_row

NATIVE = """\
terraform {
  required_providers {
    aws = {
      source                = "hashicorp/aws"
      version               = ">= 5"
      configuration_aliases = [aws.replica]
    }
    old = "~> 2"
  }
}
variable "x" {
  type        = list(string)
  default     = ["a", 1, null, { b = true }]
  description = "X."
  validation {
    condition     = true
    error_message = "No."
  }
}
resource "aws_a" "r" {
  provider = aws.replica
}
data "http" "d" {}
provider "older" {
  version = "1"
}
check "c" {
  data "http" "in" {}
}
"""

DOCUMENT = {
    "//": "a comment",
    "terraform": {
        "required_providers": {
            "aws": {"source": "hashicorp/aws", "version": ">= 5", "configuration_aliases": ["aws.replica"]},
            "old": "~> 2",
        },
    },
    "variable": {
        "x": {
            "type": "list(string)",
            "default": ["a", 1, None, {"b": True}],
            "description": "X.",
            "validation": {"condition": "${true}", "error_message": "No."},
        },
    },
    "resource": {"aws_a": {"r": {"provider": "aws.replica", "//": "a comment"}}},
    "data": {"http": {"d": {}}},
    "provider": {"older": [{"version": "1"}]},
    "check": {"c": {"data": {"http": {"in": {}}}}},
}


def without_places(parts):
    shown = json.loads(json.dumps(parts))
    for entries in shown.values():
        for entry in entries:
            del entry["file"], entry["line"]
    for entry in shown["variables"]:
        del entry["default"]
    return shown


def test_both_syntaxes_give_the_same_document():
    native, document = unit_of(NATIVE), unit_of("", main_tf_json=json.dumps(DOCUMENT))
    assert without_places(document.parts) == without_places(native.parts)
    assert native.diagnostics == document.diagnostics == []
    # Lists of objects are blocks too.
    unit = unit_of("", main_tf_json=as_json(variable=[{"a": {}}, {"b": {}}], resource=[{"t_x": [{"r": [{}]}]}]))
    assert [entry["name"] for entry in unit.parts["variables"]] == ["a", "b"]
    assert [entry["name"] for entry in unit.parts["resources"]] == ["r"]


def test_a_default_is_shown_as_written_with_its_line_and_unknown_if_it_is_set_twice():
    unit = unit_of("", main_tf_json=as_json(variable={"x": {"default": {"a": [1]}}}))
    (found,) = unit.parts["variables"]
    assert found["default"] == '{\n  "a": [\n    1\n  ]\n}'
    assert (found["value"], found["line"]) == ({"a": [1]}, 3)

    unit = unit_of("", main_tf_json='{"variable": {"x": {"default": 1, "default": 2}}}')
    assert unit.parts["variables"][0]["default"] == "(unknown)"
    assert messages(unit) == ["default is set twice, so it is unclear which one applies"]


@for_each_row(
    ("default", "value"),
    [('"$${x}"', "${x}"), ("1e+3", 1000.0), ("-0.5", -0.5), ('"\\u00fc"', "\u00fc"), ("true", True)],
)
def test_literals_are_decoded(default, value):
    unit = unit_of("", main_tf_json=f'{{"variable": {{"x": {{"default": {default}}}}}}}')
    (found,) = unit.parts["variables"]
    assert (found["default"], found["value"]) == (default, value)


@for_each_row("default", ['"${x}"', '["%{ if x }"]', '{"${x}": 1}', "1e400", "99999999999999999999"])
def test_what_has_to_be_evaluated_or_is_too_large_has_no_value(default):
    unit = unit_of("", main_tf_json=f'{{"variable": {{"x": {{"default": {default}}}}}}}')
    (found,) = unit.parts["variables"]
    assert found["default"] == default
    assert "value" not in found


@for_each_row(
    ("text", "column"),
    [
        ("", 1),
        ('{"variable": ', 14),
        ('{"variable": {"x": {}}', 23),
        ('{"variable": {"x": {},}}', 23),
        ('{"variable": {"x": 1}}', 20),
        ('{"variable": "x"}', 14),
        ('{"variable": {"": {}}}', 15),
        ("{'variable': {}}", 2),
        ('{"variable": {"x": {}}} extra', 25),
        ('{"variable": {"x": {"default": 01}}}', 33),
        ('{"variable": {"x": {"default": "\\ud800"}}}', 32),
        ('{"variable": {"x": {"default": "\\u0000"}}}', 32),
        ('{"variable": {"x": {"default": tru}}}', 32),
        ('{"variable": {"x": {"default": NaN}}}', 32),
        ("[" * 100_000, 201),
        ('{"a":' * 100_000, 1001),
    ],
)
def test_a_file_that_is_no_json_costs_a_warning_with_its_place(text, column):
    unit = unit_of("variable y {}", more_tf_json=text.encode())
    assert [entry["name"] for entry in unit.parts["variables"]] == ["y"]
    assert [(note.file, note.line, note.column) for note in unit.diagnostics] == [("more.tf.json", 1, column)]
