"""Kinds of modules that load in no client, each with its place, beside one that loads."""

from tests.modules.inspection.inspections import unit_of
from tests.rows import for_each_row

DESTROYED = 'resource "a_b" "c" {\n  provisioner "local-exec" {\n    when    = destroy\n    command = %s\n  }\n}\n'
CONNECTED = (
    'resource "a_b" "c" {\n  connection {\n    host = %s\n  }\n'
    '  provisioner "local-exec" {\n    when = destroy\n  }\n}\n'
)
REPLACED = 'resource "a_b" "c" {\n  lifecycle {\n    replace_triggered_by = [%s]\n  }\n}\n'
CHECKED = (
    'resource "a_b" "c" {\n  lifecycle {\n    precondition {\n      condition     = %s\n      error_message = "m"\n'
)
CHECKED += "    }\n  }\n}\n"
HEREDOC = "locals {\n  a = %s\na\nEOT\n}\n"
SOURCE = 'variable "v" {}\nmodule "m" {\n  source = "./${%s}"\n}\n'
REQUIRED = "terraform {\n  required_providers {\n    a = %s\n  }\n}\n"
REMOVED = 'removed {\n  from = %s\n  provisioner "local-exec" {\n    when = destroy\n  }\n}\n'
IMPORTED = 'import {\n  to       = %s\n  id       = "i"\n  provider = a\n}\n'

# The line, what no client loads, and what each of them loads.
KINDS = {
    "a destroy provisioner that refers to a variable": (4, DESTROYED % "var.x", DESTROYED % "self.id"),
    "a destroy provisioner that refers to the value of each": (4, DESTROYED % "each.value", DESTROYED % "each.key"),
    "the connection of a destroy provisioner": (3, CONNECTED % "local.x", CONNECTED % "self.ip"),
    "a replacement by a variable": (3, REPLACED % "var.x", REPLACED % "a_b.d[count.index]"),
    "a replacement by two resources": (3, REPLACED % "a_b.d[a_b.e.id]", REPLACED % "a_b.d.id"),
    "a condition that refers to its own resource": (4, CHECKED % "a_b.c.id", CHECKED % "self.id"),
    "a blank behind a heredoc's opening marker": (2, HEREDOC % "<<EOT ", HEREDOC % "<<EOT"),
    "a comment behind a heredoc's opening marker": (2, HEREDOC % "<<-EOT # a", HEREDOC % "<<-EOT"),
    "a source that refers to a resource": (3, SOURCE % "a_b.c", ""),
    "a source that refers to a variable that is not declared": (3, SOURCE % "var.w", SOURCE % "var.v"),
    "a null requirement": (3, REQUIRED % "null", REQUIRED % '">= 1"'),
    "a requirement that is an operation": (3, REQUIRED % "{ version = 1 + 1 }", REQUIRED % '{ version = "1" }'),
    "a removed module with a provisioner": (2, REMOVED % "module.m", REMOVED % "a_b.c"),
    "a provider of an import into a called module": (4, IMPORTED % "module.m.a_b.c", IMPORTED % "a_b.c"),
    "a loop over a variable as a default": (2, 'variable "x" {\n  default = [for a in var.y : a]\n}\n', ""),
    "a type whose attribute is in quotes": (2, 'variable "x" {\n  type = object({ "a" = string })\n}\n', ""),
    "a null flag": (2, 'variable "x" {\n  sensitive = null\n}\n', 'variable "x" {\n  sensitive = "true"\n}\n'),
    "a template sequence without an expression": (2, 'locals {\n  a = "${}"\n}\n', 'locals {\n  a = "$${}"\n}\n'),
    "a name with two colons that is not called": (2, "locals {\n  a = b::c\n}\n", "locals {\n  a = b::c()\n}\n"),
    "a number with two points": (2, "locals {\n  a = 1.2.3\n}\n", 'locals {\n  a = "1.2.3"\n}\n'),
    "a form feed": (2, "locals {\n\x0c  a = 1\n}\n", 'locals {\n  a = "\x0c"\n}\n'),
    "a second import of a resource": (6, (IMPORTED % "a_b.c") * 2, IMPORTED % 'a_b.c["k"]' + IMPORTED % "a_b.c"),
    "a resource whose type names no provider": (
        1,
        'resource "a-_b" "c" {}\n',
        'resource "a-_b" "c" {\n provider = a\n}\n',
    ),
}


@for_each_row(("line", "wrong", "fine"), KINDS.values(), ids=KINDS)
def test_what_no_client_loads_is_found_on_its_line(line, wrong, fine):
    assert [fault.line for fault in unit_of(wrong).faults][:1] == [line]
    assert unit_of(fine).faults == []


VARIABLE = 'variable "x" {\n  type    = number\n  default = 1\n}\n'
OVERRIDES = {
    "a default that does not fit the merged type": (VARIABLE, 'variable "x" {\n  default = "a"\n}\n', 1),
    "a type that the merged default does not fit": (VARIABLE, 'variable "x" {\n  type = list(string)\n}\n', 1),
    "a null default where it is refused": (
        'variable "x" {\n nullable = false\n}\n',
        'variable "x" {\n default = null\n}\n',
        1,
    ),
    "a local value that is not there": (VARIABLE, "locals {\n  a = 1\n}\n", 2),
    "a provider's alias that is not there": (VARIABLE, 'provider "a" {\n  alias = "b"\n}\n', 1),
    "what a resource depends on": ('resource "a_b" "c" {}\n', 'resource "a_b" "c" {\n  depends_on = [a_b.d]\n}\n', 2),
    "two backends": ("", 'terraform {\n  backend "a" {}\n  backend "b" {}\n}\n', 3),
}


@for_each_row(("text", "override", "line"), OVERRIDES.values(), ids=OVERRIDES)
def test_an_override_is_judged_after_merging(text, override, line):
    faults = unit_of(text or "locals {}\n", override_tf=override).faults
    assert [(fault.file, fault.line) for fault in faults] == [("override.tf", line)]


def test_an_override_that_makes_a_type_and_a_default_fit_is_fine():
    both = 'variable "x" {\n  type    = list(string)\n  default = ["a"]\n}\n'
    assert unit_of(VARIABLE, override_tf=both).faults == []
    assert unit_of("locals {\n  a = 1\n}\n", override_tf="locals {\n  a = 2\n}\n").faults == []


SHAPES = {
    "no label": '{"resource": {"a_b": {}}}',
    "null for a label": '{"variable": null}',
    "a string for a body": '{"variable": {"x": "y"}}',
    "a number among bodies": '{"resource": {"a_b": {"c": [1]}}}',
    "a list for arguments": '{"terraform": {"required_providers": [["a"]]}}',
    "an argument twice": '{"output": {"x": {"value": 1, "value": 2}}}',
    "a key twice": '{"variable": {"x": {"default": {"a": 1, "a": 2}}}}',
    "a reference that is none": '{"output": {"x": {"value": 1, "depends_on": ["a b"]}}}',
    "a template for a reference": '{"resource": {"a_b": {"c": {"lifecycle": {"replace_triggered_by": ["${a_b.d}"]}}}}}',
    "a template that cannot be parsed": '{"check": {"x": {"assert": {"condition": "${", "error_message": "m"}}}}',
    "a tab in a string": '{"locals": {"a": "\t"}}',
    "no number": '{"locals": {"a": NaN}}',
    "a byte order mark": '\ufeff{"locals": {"a": 1}}',
}


@for_each_row("text", SHAPES.values(), ids=SHAPES)
def test_a_wrong_shape_in_json_is_found(text):
    (fault, *_) = unit_of(main_tf_json=text).faults
    assert (fault.file, fault.line) == ("main.tf.json", 1)


FINE_IN_JSON = {
    "null for a body": '{"locals": null, "variable": {"x": null}}',
    "lists for objects": '{"variable": [{"x": [{}]}, {"y": [[{}]]}]}',
    "comments in bodies": '{"//": "a", "variable": {"x": {"//": {"a": 1}}}}',
    "a key twice in what nobody decodes": '{"resource": {"a_b": {"c": {"x": 1, "x": 2}}}}',
    "references in strings": '{"output": {"x": {"value": 1, "depends_on": ["a_b.c[0]"]}}}',
}


@for_each_row("text", FINE_IN_JSON.values(), ids=FINE_IN_JSON)
def test_what_clients_load_in_json_is_not_questioned(text):
    assert unit_of(main_tf_json=text).faults == []


def test_a_byte_order_mark_is_fine_in_the_native_syntax():
    assert unit_of("\ufefflocals {}\n").faults == []


def test_an_error_in_a_tofu_file_beside_a_good_one_stops_only_opentofu():
    unit = unit_of("locals {}\n", more_tofu="other {}\n")
    assert unit.faults == []
    assert [(row["text"], row["file"]) for row in unit.parts["requires"]] == [("Terraform", "more.tofu")]
    assert [row["text"] for row in unit_of("locals {}\n", more_tofu="locals {\n").parts["requires"]] == ["Terraform"]


def test_clients_that_stopped_to_accept_something_are_named_by_their_last_release():
    text = 'variable "x" {\n  const     = true\n  sensitive = true\n}\n'
    needed = [row["text"] for row in unit_of(text).parts["requires"]]
    assert needed == ["OpenTofu or Terraform 1.15", "OpenTofu or Terraform before 1.15"]
    called = 'module "m" {\n  source  = "a/b/c"\n  version = null\n}\n'
    assert [row["text"] for row in unit_of(called).parts["requires"]] == ["OpenTofu or Terraform before 1.15"]
