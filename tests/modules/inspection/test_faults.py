"""What does not parse costs a warning with its place; the rest is read, and nothing is shown that nobody wrote."""

import pytest

from tests.modules.inspection.inspections import of_default, unit_of


def names(unit):
    return [entry["name"] for entry in unit.parts["variables"]]


def places(unit):
    return [(note.file, note.line, note.column) for note in unit.notes]


@pytest.mark.parametrize(
    "number",
    [
        "1e+3",
        "1E-3",
        "1e3",
        "2.5e10",
        "-1e+3",
        "0x1F",
        "1_000",
        "1.",
        ".5",
        "1x",
        "[1, 1e+3]",
        "{ a = 1E-3 }",
        "[0x1F]",
    ],
)
def test_a_number_that_the_grammar_cannot_read_is_unknown(number):
    found = of_default(number)
    assert (found["default"], found["required"], "value" in found) == ("(unknown)", False, False)


def test_a_number_that_cannot_be_read_costs_nothing_else():
    unit = unit_of('variable "a" {\n  type    = number\n  default = 1e+3\n  description = "A."\n}\nvariable "b" {}\n')
    first, second = unit.parts["variables"]
    assert (first["type"], first["description"], first["sensitive"]) == ("number", "A.", False)
    assert second["name"] == "b"
    assert places(unit) == [("main.tf", 3, 14)]


def test_behind_a_string_that_does_not_end_its_block_is_unknown_and_the_next_is_read():
    unit = unit_of(
        'variable "a" {\n  type = number\n  description = "open\n  default = 1\n}\nvariable "b" {\n  default = "x"\n}\n'
    )
    first, second = unit.parts["variables"]
    assert (first["type"], first["description"], first["default"]) == ("number", "(unknown)", "(unknown)")
    assert second["value"] == "x"
    assert places(unit) == [("main.tf", 3, 17)]


def test_behind_a_bracket_that_is_not_closed_the_next_block_is_read():
    unit = unit_of('variable "a" {\n  default = [1,\n}\nvariable "b" {\n  default = 2\n}\n')
    assert [(entry["name"], entry["default"]) for entry in unit.parts["variables"]] == [("a", "(unknown)"), ("b", "2")]
    assert places(unit) == [("main.tf", 3, 1)]


@pytest.mark.parametrize(
    "opened",
    [
        'variable "a" {\n  default = 1\n',
        'variable "a" {\n  default = <<EOT\n',
        'variable "a" {\n  default = "${\n',
        "/*\n",
    ],
)
def test_what_follows_something_that_is_never_closed_is_not_shown(opened):
    unit = unit_of(f'variable "before" {{}}\n{opened}variable "after" {{\n  default = 1\n}}\n')
    assert names(unit) == ["before"] or names(unit) == ["before", "a"]
    assert all(entry["default"] in (None, "(unknown)") for entry in unit.parts["variables"])
    assert len(unit.notes) == 1


@pytest.mark.parametrize(
    "text",
    [
        'variable "x" { default = 1 type = number }',
        'variable "x" {\n  default = 1\n  - 2\n}\n',
        'variable "x" {\n  default = f\n  (2)\n}\n',
        'variable "x" {\n  default = "a\n  b"\n}\n',
        'variable "x" {\n  default = "a"b"\n}\n',
        'variable "x" {\n  default = "\\q"\n}\n',
        'variable "x" {\n  default = [1, 2\n}\n',
        'variable "x" {\n  default = {a = 1, b}\n}\n',
        'variable "x" {\n  default = <<EOT\n}\n',
        'variable "x" {\n  default = <<EOT\na\nEOT}\n',
        'variable "x" {\n  default = {\n    a = b\n    (c) = d\n  }\n}\n',
        'variable "x" {\n  default := 1\n}\n',
        'variable "x" {\n  default = \n}\n',
        'variable "x" {\n  default = 1;\n}\n',
        'variable "x" {\n  default = 1,\n}\n',
        'variable "x" {\n  "default" = 1\n}\n',
    ],
)
def test_a_default_that_is_not_sound_is_unknown(text):
    unit = unit_of(text)
    (found,) = unit.parts["variables"]
    assert (found["default"], "value" in found) == ("(unknown)", False)
    assert unit.notes


def test_two_blocks_on_one_line_are_not_told_apart():
    unit = unit_of('variable "a" {} variable "b" { default = 1 }\nvariable "c" {}\n')
    assert names(unit) == ["a", "c"]
    assert places(unit) == [("main.tf", 1, 1)]


def test_a_fault_in_a_block_that_is_not_shown_costs_a_warning_only():
    unit = unit_of('locals {\n  a = 1e+3\n}\nvariable "x" {\n  default = 1\n}\n')
    assert [entry["value"] for entry in unit.parts["variables"]] == [1]
    assert places(unit) == [("main.tf", 2, 9)]


def test_stray_brackets_and_words_cost_a_warning():
    unit = unit_of('}\nvariable "x" {}\nwhat is this\n')
    assert names(unit) == ["x"]
    assert places(unit) == [("main.tf", 1, 1)]


def test_columns_count_characters():
    unit = unit_of('variable "x" {\n  description = "äöü" + 1e+3\n}\n')
    assert places(unit) == [("main.tf", 2, 26)]


EXAMPLE = 'variable "a" {\n  default = <<EOT\nvariable "no" {\n}\nEOT\n}\n'


def test_a_heredoc_that_shows_hcl_is_text():
    unit = unit_of(EXAMPLE)
    assert [(entry["name"], entry["value"]) for entry in unit.parts["variables"]] == [("a", 'variable "no" {\n}\n')]


def test_in_a_damaged_file_a_heredoc_with_blocks_in_it_may_be_the_damage():
    """Its end may be another's: then it holds other variables, and what they keep secret."""
    unit = unit_of(f'{EXAMPLE}variable "b" {{\n  default = 1e+3\n}}\n')
    assert [(entry["name"], entry["default"]) for entry in unit.parts["variables"]] == [
        ("a", "(unknown)"),
        ("b", "(unknown)"),
    ]


def test_nested_blocks_of_a_damaged_block_are_read():
    text = """\
variable "x" {
  default = 1e+3
  validation {
    condition     = true
    error_message = "Kept."
  }
}
terraform {
  required_version = 1e+3
  required_providers {
    a = { source = "x/a" }
  }
}
"""
    unit = unit_of(text)
    assert unit.parts["variables"][0]["validations"] == ["Kept."]
    assert [entry["source"] for entry in unit.parts["providers"]] == ["x/a"]
    assert [entry["text"] for entry in unit.parts["required_version"]] == ["(unknown)"]


def test_behind_an_override_that_cannot_be_read_no_default_is_for_sure():
    unit = unit_of('variable "x" {\n  default = 1\n}\n', override_tf='variable "x" {\n  default = 2\n')
    assert unit.parts["variables"][0]["default"] == "(unknown)"
