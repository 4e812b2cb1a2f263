"""Each rule of the table, broken once, is found; each sample of the table is not."""

import json

import pytest

from apps.modules.inspection.language.schema import BLOCKS
from apps.modules.inspection.units import read_unit
from tests.modules.inspection.inspections import unit_of
from tests.modules.inspection.language.mistakes import mistakes
from tests.modules.inspection.language.newer import DECLARED, NEWER
from tests.modules.inspection.language.samples import SAMPLES, Sample
from tests.rows import for_each_row

# Each of the generated mistakes was given to `tofu get` 1.12.6 and `terraform get` 1.11.4, and to the loaders of
# Terraform 1.14, 1.15 and 1.16: all of them refuse all of them.
LEAST = 1_000


def as_files(sample):
    return {"main.tf": sample.hcl()}, {"main.tf.json": json.dumps({sample.kind: [sample.labelled()]}, indent=2)}


def unit(files):
    return read_unit({path: text.encode() for path, text in files.items()})


@pytest.mark.slow
def test_every_generated_mistake_is_found_with_its_file_and_line():
    found = [(name, files, unit(files).faults) for name, files in mistakes()]
    assert [name for name, _, faults in found if not faults] == []
    assert len(found) >= LEAST
    for name, files, (fault, *_) in found:
        assert 1 <= fault.line <= files[fault.file].count("\n") + 1, name
        assert fault.message, name


def test_the_samples_contain_every_block_of_the_table():
    def keys(sample):
        yield sample.key
        for inner in sample.blocks:
            yield from keys(inner)

    covered = {key for sample in [*SAMPLES, *(sample for _, sample in NEWER)] for key in keys(sample)}
    # These are no blocks of their own; the arguments of a cloud block and a state store belong to services; files of
    # commands are not judged.
    of_commands = {"list", "from", "migrated"}
    assert set(BLOCKS) - covered == {"reserved", "reserved_provider", "nested", "cloud", "state_store"} | of_commands


@for_each_row("sample", SAMPLES, ids=lambda sample: sample.kind)
def test_a_correct_sample_is_not_questioned(sample):
    for files in as_files(sample):
        found = unit(files)
        assert (found.faults, found.parts.get("requires")) == ([], None)


@for_each_row(("clients", "sample"), NEWER, ids=lambda value: value if isinstance(value, str) else value.kind)
def test_what_only_some_clients_know_is_a_requirement_and_no_fault(clients, sample):
    found = unit(as_files(sample)[0] | {"variables.tf": DECLARED})
    assert found.faults == []
    (needed,) = found.parts["requires"]
    assert (needed["text"], needed["file"]) == (clients, "main.tf")


def test_what_leaves_no_client_over_is_a_fault():
    both = (
        'output "x" {\n  value = 1\n  type  = number\n}\n'
        'resource "a_b" "c" {\n  lifecycle {\n    enabled = true\n  }\n}\n'
    )
    found = unit_of(both)
    assert [(one.line, "needs" in one.message) for one in found.faults] == [(3, True), (7, True)]
    assert "requires" not in found.parts


def test_an_override_file_may_leave_out_required_arguments():
    found = unit_of('output "x" {\n  value = 1\n}\n', override_tf='output "x" {\n  description = "X."\n}\n')
    assert found.faults == []


# Measured with both clients: what looks wrong and is not.
FINE = {
    "unknown arguments of a provider's blocks": 'resource "a_b" "c" {\n  x = 1\n  some "label" {\n    x = 1\n  }\n}\n',
    "an argument of a provider that has the name of a block": 'resource "a_b" "c" {\n  lifecycle = 1\n}\n',
    "references in quotes": 'resource "a_b" "c" {\n  depends_on = ["a_b.d"]\n  provider   = "a.b"\n}\n',
    "a number for a string": 'variable "x" {\n  type    = string\n  default = 1\n}\n',
    "a number in quotes": 'variable "x" {\n  type    = number\n  default = "1"\n}\n',
    "a flag in quotes": 'variable "x" {\n  type    = bool\n  default = "true"\n}\n',
    "an attribute too many": 'variable "x" {\n  type    = object({ a = string })\n  default = { a = "1", b = 2 }\n}\n',
    "an optional attribute": 'variable "x" {\n  type    = object({ a = optional(string, 1) })\n  default = {}\n}\n',
    "null for anything": 'variable "x" {\n  type    = list(string)\n  default = null\n}\n',
    "a bare list": 'variable "x" {\n  type    = list\n  default = [1]\n}\n',
    "a set from a list": 'variable "x" {\n  type    = set(string)\n  default = ["a"]\n}\n',
    "any in any type": 'variable "x" {\n  type    = map(any)\n  default = { a = [] }\n}\n',
    "a version without a space": 'module "x" {\n  source  = "acme/vpc/aws"\n  version = "~>1.0,!=1.2"\n}\n',
    "a host with a port": 'module "x" {\n  source  = "acme.example:8443/acme/vpc/aws//a"\n  version = "1.0"\n}\n',
    "a remote source": 'module "x" {\n  source = "git::https://acme.example/x.git?ref=v1"\n}\n',
    "a source on GitHub": 'module "x" {\n  source = "github.com/acme/vpc"\n}\n',
    "the old form of a requirement": 'terraform {\n  required_providers {\n    aws = "~> 3.0"\n  }\n}\n',
    "an object on several lines": "locals {\n  a = {\n    b = 1\n\n    c = 2, d = 3\n  }\n}\n",
    "a block on one line": 'variable "x" { default = 1 }\n',
    "no newline at the end": 'variable "x" {}',
    "a moved module": 'moved {\n  from = module.a["k"]\n  to   = module.b[0].module.c\n}\n',
    "an index that is evaluated": 'import {\n  to       = a_b.c[each.key]\n  id       = "x"\n  for_each = {}\n}\n',
    "a condition with other variables": (
        'variable "y" {}\nvariable "x" {\n  validation {\n    condition     = var.y == var.x\n'
        '    error_message = "No."\n  }\n}\n'
    ),
    "values of a loop": 'variable "x" {\n  default = [for a in [1, 2] : a * 2]\n}\n',
}


@for_each_row("text", FINE.values(), ids=FINE)
def test_what_clients_load_is_not_questioned(text):
    found = unit_of(text)
    assert (found.faults, found.parts.get("requires")) == ([], None)


MISTAKES_BY_HAND = {
    "an argument outside of a block": ("x = 1\n", 1),
    "an unknown block": ("resources {\n}\n", 1),
    "two arguments on a line of a block": ('variable "x" { default = 1, type = number }\n', 1),
    "a block that begins on one line": ('variable "x" { default = 1\n}\n', 1),
    "a block that ends on the line of its argument": ('variable "x" {\n  default = 1 }\n', 2),
    "two blocks on a line": ("locals {\n  a = 1\n} locals {\n}\n", 3),
    "a block in a block on one line": ('resource "a_b" "c" { lifecycle {} }\n', 1),
    "two elements without a comma": ("locals {\n  a = { b = 1 c = 2 }\n}\n", 2),
    "a newline in an object's element": ("locals {\n  a = {\n    b = 1\n    + 2\n  }\n}\n", 4),
    "a lone carriage return": ("locals {\n  a = 1\r  b = 2\n}\n", 2),
    "a nested argument twice": ('resource "a_b" "c" {\n  rule {\n    a = 1\n    a = 2\n  }\n}\n', 4),
    "an attribute of a type twice": ('variable "x" {\n  type = object({ a = string, a = number })\n}\n', 2),
    "a deep default": (
        'variable "x" {\n  type    = list(object({ a = bool }))\n  default = [{ a = true }, { a = 3 }]\n}\n',
        3,
    ),
    "a default that lacks an attribute": ('variable "x" {\n  type    = object({ a = bool })\n  default = {}\n}\n', 3),
    "a default of the wrong length": ('variable "x" {\n  type    = tuple([string])\n  default = []\n}\n', 3),
    "null where it is refused": ('variable "x" {\n  nullable = false\n  default  = null\n}\n', 3),
}


@for_each_row(("text", "line"), MISTAKES_BY_HAND.values(), ids=MISTAKES_BY_HAND)
def test_a_mistake_is_found_on_its_line(text, line):
    assert unit_of(text).faults[0].line == line


def test_a_secret_default_is_in_no_message():
    found = unit_of(
        'variable "x" {\n  sensitive = true\n  type      = map(number)\n  default   = { hunter2 = "hunter3" }\n}\n'
    )
    assert found.faults
    assert "hunter" not in str(found)


def test_a_name_that_resembles_one_is_suggested():
    (fault,) = unit_of('variable "x" {\n  defualt = 1\n}\n').faults
    assert fault.message == 'variable "x": found the argument defualt, expected default'


def test_samples_of_both_syntaxes_say_the_same():
    hcl, in_json = as_files(Sample("variable", "variable", ("x",), {"type": "number", "default": '"a"'}))
    messages = [unit(files).faults[0].message for files in (hcl, in_json)]
    assert messages[0] == messages[1]
