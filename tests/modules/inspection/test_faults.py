"""A damaged file costs its damaged blocks and says where; nothing is shown that nobody wrote."""

from tests.modules.inspection.inspections import messages, of_default, unit_of
from tests.rows import for_each_row


def names(unit):
    return [entry["name"] for entry in unit.parts["variables"]]


def places(unit):
    return [(one.file, one.line, one.column) for one in unit.diagnostics]


@for_each_row(
    ("number", "value"),
    [
        ("1e+3", 1000),
        ("1E-3", 0.001),
        ("1e3", 1000),
        ("2.5e10", 2.5e10),
        ("-1e+3", -1000),
        ("[1, 1e+3]", [1, 1000]),
        ("{ a1e3 = 1E-3 }", {"a1e3": 0.001}),
        ('"1e3 0x1F"', "1e3 0x1F"),
    ],
)
def test_numbers_with_an_exponent_are_read_though_the_grammar_does_not_know_them(number, value):
    found = of_default(number)
    assert (found["default"], found["value"]) == (number, value)


@for_each_row("number", ["0x1F", "1_000", "1.", ".5", "1x", "[0x1F]"])
def test_what_is_no_number_is_damage(number):
    unit = unit_of(f'variable "a" {{}}\nvariable "x" {{\n  default = {number}\n}}\n')
    assert names(unit) == ["a"]
    assert unit.diagnostics
    assert unit.faults


@for_each_row(
    "damage",
    [
        'variable "x" { default = 1 type = number }',
        'variable "x" {\n  default = 1 type = number\n}',
        'variable "x" {\n  default = 1\n  - 2\n}\n',
        'variable "x" {\n  default = f\n  (2)\n}\n',
        'variable "x"\n{\n}\n',
        'variable "x" {\n  default = "a\n  b"\n}\n',
        'variable "x" {\n  default = {a = 1, b}\n}\n',
    ],
)
def test_the_damaged_block_is_left_out_and_the_others_stay(damage):
    unit = unit_of(f'variable "before" {{\n  default = 1\n}}\n{damage}\nvariable "after" {{\n  default = 2\n}}\n')
    assert [(entry["name"], entry["value"]) for entry in unit.parts["variables"]] == [("before", 1), ("after", 2)]
    assert len(unit.diagnostics) == len(unit.faults) == 1
    assert 4 <= unit.diagnostics[0].line < 4 + damage.count("\n") + 1


@for_each_row(
    "damage",
    [
        "default = {\n    a = b\n    (c) = d\n  }",
        'default = "\\q"',
        "default := 1",
        "default =",
        "default = 1;",
        "default = 1,",
        '"default" = 1',
        "validation {\n    error_message = )\n  }",
    ],
)
def test_what_follows_damage_is_shown_as_it_is_or_not_at_all(damage):
    after = 'variable "after" {\n  default = 2\n}\n'
    unit = unit_of(f'variable "before" {{}}\nvariable "x" {{\n  {damage}\n}}\n{after}')
    assert names(unit) in (["before"], ["before", "after"])
    assert [entry["value"] for entry in unit.parts["variables"] if entry["name"] == "after"] in ([], [2])
    assert 2 <= unit.diagnostics[0].line <= 5
    assert len(unit.faults) == 1


@for_each_row(
    ("opened", "is_read_again"),
    [
        ('variable "a" {\n  default = 1\n', True),
        ('variable "a" {\n  default = "${\n', True),
        ('variable "a" {\n  default = [1,\n}\n', True),
        ('variable "a" {\n  default = "open\n}\n', True),
        ('variable "a" {\n  default = "a"b"\n}\n', True),
        ('variable "a" {\n  default = <<EOT\n', False),
        ('variable "a" {\n  default = <<EOT\na\nEOT}\n', False),
        ("/*\n", False),
        ("locals {\n  a = 1 /*\n", False),
    ],
)
def test_what_is_never_closed_costs_its_block_and_what_a_heredoc_or_comment_hides(opened, is_read_again):
    unit = unit_of(f'variable "before" {{}}\n{opened}variable "after" {{\n  default = 1\n}}\n')
    assert names(unit) == ["before", "after"] if is_read_again else ["before"]
    assert 2 <= unit.diagnostics[0].line <= opened.count("\n") + 1
    assert len(unit.faults) == 1


def test_what_looks_like_a_block_in_a_heredoc_or_a_comment_is_none_in_a_damaged_file_either():
    hidden = 'variable "no" {}\n'
    unit = unit_of(
        f'variable "a" {{\n  default = 1\n\nvariable "b" {{\n  default = <<-EOT\n{hidden}  EOT\n}}\n'
        f'/* "x" \n{hidden}*/\nvariable "c" {{\n  default = "arn:x/*"\n}}\nvariable "d" {{}}\n'
    )
    assert names(unit) == ["b", "c", "d"]
    assert [(one.line, one.column) for one in unit.diagnostics] == [(1, 1)]
    assert [entry["line"] for entry in unit.parts["variables"]] == [4, 12, 15]


def test_of_two_blocks_on_a_line_the_second_is_left_out_and_each_damaged_block_has_its_own_warning():
    unit = unit_of('variable "a" {} variable "b" { default = 1 }\nvariable "c" {}\n')
    assert names(unit) == ["a", "c"]
    assert places(unit) == [("main.tf", 1, 17)]
    assert messages(unit) == ["a newline is missing before this; the block is left out"]

    damaged = 'variable "%s" {\n  description = "äöü" type = number\n}\n'
    hidden = "locals {\n  a = 1 +\n}\n"
    unit = unit_of(f'{damaged % "a"}{damaged % "b"}variable "c" {{}}\n{hidden}')
    assert names(unit) == ["c"]
    assert places(unit)[:2] == [("main.tf", 2, 23), ("main.tf", 5, 23)], "columns count characters"
    assert len(unit.diagnostics) == 3, "damage in a block that is not shown costs a warning too"


def test_a_closing_brace_too_many_costs_what_follows():
    unit = unit_of('variable "x" {}\n}\nvariable "y" {}\n')
    assert names(unit) in (["x"], ["x", "y"])
    assert unit.diagnostics[0].line == 2


def test_lines_may_break_inside_brackets_and_templates_and_behind_comments():
    text = """\
variable "x" { # a
  default = [ // b
    1, /* c
    d */ 2
  ]
  description = "a ${
    b
  } c" # d
  /* e */ type = map( /*
    */ string
  ) /* f
  */
}
output "y" { value = 1 } /* g */ # h
"""
    assert unit_of(text).diagnostics == []


def test_behind_an_override_that_cannot_be_read_no_default_is_for_sure():
    unit = unit_of('variable "x" {\n  default = 1\n}\n', override_tf='variable "x" {\n  default = 2\n')
    assert unit.parts["variables"][0]["default"] == "(unknown)"
