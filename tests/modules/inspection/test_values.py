"""Types, defaults and texts: as the author wrote them, and as JSON where they are literals."""

from tests.modules.inspection.inspections import of_default, variable
from tests.rows import for_each_row

TYPE = """\
variable "x" {
  type = object({
    image = string # what runs
    ports = optional(list(object({
      number = number // from 1
    })), [])
    /* and more */
  })
}
"""


def test_a_type_is_the_authors_text_out_of_its_indentation():
    assert variable(TYPE)["type"] == (
        "object({\n  image = string # what runs\n  ports = optional(list(object({\n    number = number // from 1\n"
        "  })), [])\n  /* and more */\n})"
    )
    windows = variable(TYPE.replace("  ", "\t").replace("\n", "\r\n"))["type"].splitlines()
    assert windows[:3] == ["object({", "\timage = string # what runs", "\tports = optional(list(object({"]


@for_each_row(
    ("source", "value"),
    [
        ('"text"', "text"),
        ('""', ""),
        ("1", 1),
        ("-1", -1),
        ("0.5", 0.5),
        ("-2.25", -2.25),
        ("9007199254740991", 9007199254740991),
        ("true", True),
        ("null", None),
        ("[]", []),
        ("{}", {}),
        ('["a", "b",]', ["a", "b"]),
        ('{ a = 1, "b c" : [true, { d = null }], 4 = "four" }', {"a": 1, "b c": [True, {"d": None}], "4": "four"}),
        ('{ null = "a name", true = 1 }', {"null": "a name", "true": 1}),
        ('(("x"))', "x"),
        ('"tab\\t nl\\n q\\" b\\\\ \\u00fc \\U0001f600"', 'tab\t nl\n q" b\\ \u00fc \U0001f600'),
        ('"$${not} %%{not} $ % $a"', "${not} %{not} $ % $a"),
        ('["<", "#", "//", "/*", "}"]', ["<", "#", "//", "/*", "}"]),
        ("[\n    1, # one\n    /* two */ 2\n  ]", [1, 2]),
    ],
)
def test_a_literal_is_shown_as_written_and_known_as_json(source, value):
    found = of_default(source)
    assert (found["default"], found["value"], found["required"]) == (source.replace("\n  ", "\n"), value, False)


@for_each_row(
    "source",
    [
        '"${local.x}"',
        '"%{if true}x%{endif}"',
        "local.x",
        "[1, local.x]",
        "{ (local.key) = 1 }",
        "1 + 1",
        "!true",
        'upper("x")',
        "[for x in [1] : x]",
        "<<EOT\n${x}\nEOT",
        '"\\u0000"',
        '"\\ud800"',
        "123456789012345678901234567890",
    ],
)
def test_what_is_no_literal_is_shown_and_has_no_value(source):
    found = of_default(source)
    assert found["default"] == source
    assert "value" not in found


def test_without_a_default_it_is_required_and_null_is_one():
    found, null = variable('variable "x" {}'), of_default("null")
    assert (found["default"], found["required"], "value" in found) == (None, True, False)
    assert (null["default"], null["required"], null["value"]) == ("null", False, None)


@for_each_row(
    ("heredoc", "value"),
    [
        ("<<EOT\n    a\n  b\nEOT", "    a\n  b\n"),
        ("<<-EOT\n    a\n      b\n\n    c\n  EOT", "a\n  b\n\nc\n"),
        ("<<-EOT\n\ta\n\t\tb\n  EOT", "a\n\tb\n"),
        ("<<-EOT\n    a\n  \n    b\n  EOT", "a\n  \nb\n"),
        ("<<EOT\nEOT", ""),
        ("<<EOT\nEOTX\n EOT x\n  EOT", "EOTX\n EOT x\n"),
        ('<<EOT\n\\n $${x} %%{y} "q"\nEOT', '\\n ${x} %{y} "q"\n'),
        ("<<-E-T\n  x\nE-T", "x\n"),
    ],
)
def test_heredocs_are_decoded_as_hcl_does(heredoc, value):
    found = of_default(heredoc)
    assert found["value"] == value
    assert heredoc[2] == "-" or found["default"] == heredoc, "the lines of a plain one keep their indentation"


def test_a_description_is_decoded_where_nothing_has_to_be_evaluated_and_old_types_stay_quoted():
    text = 'variable "x" {\n  description = <<-EOT\n    One\n      two "three".\n  EOT\n}\n'
    assert variable(text)["description"] == 'One\n  two "three".'
    found = variable('variable "x" {\n  description = "a ${b}"\n  type = "string"\n}\n')
    assert (found["description"], found["type"]) == ('"a ${b}"', '"string"')


def test_flags_may_be_quoted():
    found = variable('variable "x" {\n  nullable = "false"\n  ephemeral = "true"\n  sensitive = "false"\n}\n')
    assert (found["nullable"], found["ephemeral"], found["sensitive"]) == (False, True, False)
