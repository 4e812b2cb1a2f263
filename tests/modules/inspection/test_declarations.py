"""The blocks of a unit, each with file and line."""

from tests.modules.inspection.inspections import messages, unit_of, variable
from tests.rows import for_each_row


def test_a_variable_has_everything_that_its_block_says():
    found = variable(
        """\
# Line one.
variable "x" {
  type        = number
  default     = 3
  description = "How many."
  nullable    = false
  ephemeral   = true
  const       = true
  deprecated  = "Use y."

  validation {
    condition     = var.x > 0
    error_message = "More than none."
  }

  validation {
    condition     = var.x < 9
    error_message = "Not ${"so"} many."
  }
}
"""
    )
    assert found == {
        "name": "x",
        "type": "number",
        "default": "3",
        "value": 3,
        "required": False,
        "description": "How many.",
        "sensitive": False,
        "nullable": False,
        "ephemeral": True,
        "const": True,
        "deprecated": "Use y.",
        "validations": ["More than none.", '"Not ${"so"} many."'],
        "file": "main.tf",
        "line": 2,
    }


def test_an_output_has_everything_but_its_value():
    text = 'output "x" {\n  type = list(any)\n  value = var.secret\n  description = "It."\n'
    text += '  sensitive = true\n  deprecated = "Use y."\n}\n'
    assert unit_of(text).parts["outputs"] == [
        {
            "name": "x",
            "type": "list(any)",
            "description": "It.",
            "sensitive": True,
            "ephemeral": False,
            "deprecated": "Use y.",
            "file": "main.tf",
            "line": 1,
        }
    ]


def test_resources_data_sources_and_ephemeral_ones_are_told_apart():
    text = 'resource "a_b" "r" {}\ndata "a_c" "d" {}\nephemeral "a_d" "e" {}\ncheck "c" {\n  data "h_e" "in" {}\n}\n'
    listed = [
        (entry["mode"], entry["type"], entry["name"], entry["line"]) for entry in unit_of(text).parts["resources"]
    ]
    assert listed == [
        ("managed", "a_b", "r", 1),
        ("data", "a_c", "d", 2),
        ("ephemeral", "a_d", "e", 3),
        ("data", "h_e", "in", 5),
    ]


@for_each_row(
    ("head", "argument", "provider"),
    [
        ('resource "aws_x" "y"', "", "aws"),
        ('data "http" "x"', "", "http"),
        ("resource aws_x y", "", "aws"),  # names need no quotes
        ('resource "aws_x" "y"', "provider = aws.replica", "aws"),
        ('resource "aws_x" "y"', "provider = google-beta", "google-beta"),
        ('resource "aws_x" "y"', "provider = null.replica", "null"),
        ('resource "aws_x" "y"', 'provider = "other.alias"', "other"),
        ('resource "aws_x" "y"', "provider = aws.by_region[each.key]", "aws"),
    ],
)
def test_a_resource_names_its_provider(head, argument, provider):
    assert unit_of(f"{head} {{\n  {argument}\n}}\n").parts["resources"][0]["provider"] == provider


PROVIDERS = """\
terraform {
  required_providers {
    aws = {
      source                = "hashicorp/aws"
      version               = ">= 5.0"
      configuration_aliases = [aws, aws.replica]
    }
    old = "~> 2.0"
    (var.odd) = { source = "a/b" }
  }
}
provider "aws" {
  version = "< 7"
}
provider "older" {
  version = "~> 1.0"
}
resource "used_thing" "x" {}
resource "terraform_data" "x" {}
"""


def test_providers_are_those_required_configured_or_only_used():
    assert unit_of(PROVIDERS).diagnostics, "a name that has to be evaluated costs a warning"
    text = PROVIDERS.replace('    (var.odd) = { source = "a/b" }\n', "")
    assert unit_of(text).parts["providers"] == [
        {
            "name": "aws",
            "source": "hashicorp/aws",
            "version": ">= 5.0, < 7",
            "aliases": ["aws", "aws.replica"],
            "file": "main.tf",
            "line": 3,
        },
        {"name": "old", "source": "", "version": "~> 2.0", "aliases": [], "file": "main.tf", "line": 8},
        {"name": "older", "source": "", "version": "~> 1.0", "aliases": [], "file": "main.tf", "line": 14},
        {"name": "used", "source": "", "version": "", "aliases": [], "file": "main.tf", "line": 17},
    ]


def test_required_versions_are_listed_with_their_places():
    unit = unit_of(
        'terraform {\n  required_version = ">= 1.6"\n}\n', more_tf='terraform {\n  required_version = "< 2"\n}\n'
    )
    assert unit.parts["required_version"] == [
        {"text": ">= 1.6", "file": "main.tf", "line": 2},
        {"text": "< 2", "file": "more.tf", "line": 2},
    ]


def test_calls_have_source_and_version():
    text = 'module "a" {\n  source  = "x/y/z"\n  version = "~> 1"\n}\nmodule "b" {\n  count = 2\n  source = "./b"\n}\n'
    assert unit_of(text).parts["calls"] == [
        {"name": "a", "source": "x/y/z", "version": "~> 1", "computed": [], "repetition": ""}
        | {"file": "main.tf", "line": 1},
        {"name": "b", "source": "./b", "version": "", "computed": [], "repetition": "count"}
        | {"file": "main.tf", "line": 5},
    ]


@for_each_row(
    ("written", "shown"),
    [
        ('"${var.base}/b"', "${var.base}/b"),
        ("var.source", "var.source"),
        ('var.a == "b" ? "./c" : "./d"', 'var.a == "b" ? "./c" : "./d"'),
        ('"./${var.folders["a"]}"', './${var.folders["a"]}'),
    ],
)
def test_a_computed_source_or_version_is_called_that_and_has_no_quotes(written, shown):
    (found,) = unit_of(f'module "a" {{\n  source  = {written}\n  version = {written}\n}}\n').parts["calls"]
    assert (found["source"], found["version"], found["computed"]) == (shown, shown, ["source", "version"])


def test_moved_blocks_have_their_lines():
    moved = unit_of("moved {\n  from = a.b\n  to = a.c\n}\nmoved {\n  from = a.d[0]\n  to = module.e.a.d\n}\n")
    assert [(row["from"], row["to"], row["line"]) for row in moved.parts["moved"]] == [
        ("a.b", "a.c", 1),
        ("a.d[0]", "module.e.a.d", 5),
    ]


def test_blocks_that_are_not_shown_cost_no_warning():
    text = """\
check "x" {
  assert {
    condition     = true
    error_message = "No."
  }
}
terraform {
  encryption {
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
  }
  cloud {}
}
locals { a = provider::x::y(1) }
something_new "of" "tomorrow" {}
"""
    unit = unit_of(text)
    assert unit.diagnostics == []
    assert not any(unit.parts.values())


@for_each_row("text", ['variable "a${b}" {}', "variable {}", 'variable "a" "b" {}', 'variable "" {}'])
def test_a_block_with_labels_that_cannot_be_is_passed_over_with_a_warning(text):
    unit = unit_of(f"{text}\nvariable y {{}}\n")
    assert [entry["name"] for entry in unit.parts["variables"]] == ["y"]
    assert messages(unit) == ["not read: this block has 1 label, each a plain name"]


def test_of_two_with_the_same_name_the_first_counts_and_an_argument_that_is_set_twice_is_unknown():
    unit = unit_of('variable "x" {\n  default = 1\n}\n', more_tf='variable "x" {\n  default = 2\n}\n')
    assert [entry["value"] for entry in unit.parts["variables"]] == [1]
    assert messages(unit) == ["variable x is already declared in main.tf, line 1"]

    unit = unit_of('variable "x" {\n  default = 1\n  default = 2\n}\n')
    assert (unit.parts["variables"][0]["default"], "value" in unit.parts["variables"][0]) == ("(unknown)", False)
    assert messages(unit) == ["default is set twice, so it is unclear which one applies"]
