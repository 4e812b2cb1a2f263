"""Each rule, by two modules as they are published: what changed, how severe, before and after."""

import pytest

from apps.modules.comparing.changes import SENTENCES, between, severity_of
from apps.modules.inspection.inspecting import inspect
from tests.house import sources
from tests.rows import for_each_row

A = 'variable "a" {\n  type = string\n  default = "x"\n}\n'
REQUIRED = 'variable "a" {\n  type = string\n}\n'
VPC = 'resource "aws_vpc" "this" {}\n'
MOVED = "moved {\n  from = aws_vpc.this\n  to   = aws_vpc.main\n}\n"
CALL = 'module "net" {\n  source = "./net"\n}\n'


def needs(constraint, source="hashicorp/aws", more=""):
    entry = f'aws = {{\n      source = "{source}"\n      version = "{constraint}"\n{more}    }}'
    return f"terraform {{\n  required_providers {{\n    {entry}\n  }}\n}}\n"


def client(constraint):
    return f'terraform {{\n  required_version = "{constraint}"\n}}\n'


def output(more=""):
    return f'output "id" {{\n  value = 1\n{more}}}\n'


def typed(kind):
    return output(f"  type = {kind}\n")


def repeated(by, kind="aws_vpc"):
    """A resource; `by` is empty, count or for_each."""
    return f'resource "{kind}" "this" {{\n{f"  {by} = var.x" if by else ""}\n}}\n'


def for_opentofu(constraint):
    return f'language {{\n  compatible_with {{\n    opentofu = "{constraint}"\n  }}\n}}\n'


FORGOTTEN = "removed {\n  from = aws_vpc.this\n  lifecycle {\n    destroy = false\n  }\n}\n"
ACTION = 'action "aws_lambda_invoke" "warm" {}\n'
ALIAS = "      configuration_aliases = [aws.other]\n"
CASES = [
    ("input_removed", "breaking", A, ""),
    (
        "input_renamed",
        "breaking",
        A.replace("}", 'description = "It."\n}'),
        A.replace('"a"', '"b"').replace("}", 'description = "It."\n}'),
    ),
    ("input_added_required", "breaking", "", REQUIRED),
    ("input_made_required", "breaking", A, REQUIRED),
    ("input_type_narrowed", "breaking", A, A.replace("= string", "= number").replace('"x"', "1")),
    ("input_not_nullable", "breaking", REQUIRED, REQUIRED.replace("}", "nullable = false\n}")),
    ("input_default_changed", "risky", A, A.replace('"x"', '"y"')),
    ("input_type_unreadable", "risky", A, A.replace("= string", "= strings")),
    (
        "input_attribute_removed",
        "risky",
        'variable "a" {\n  type = object({ b = string, c = number })\n}\n',
        'variable "a" {\n  type = object({ b = string })\n}\n',
    ),
    ("input_type_specified", "risky", A.replace("= string", "= any"), A),
    ("input_null_is_default", "risky", A, A.replace("}", "nullable = false\n}")),
    ("input_validated", "risky", A, A.replace("}", 'validation {\n condition = true\n error_message = "No."\n}\n}')),
    ("input_constant", "breaking", A, A.replace("}", "const = true\n}")),
    ("input_not_constant", "compatible", A.replace("}", "const = true\n}"), A),
    ("input_sensitive", "risky", A, A.replace("}", "sensitive = true\n}")),
    ("input_no_longer_sensitive", "risky", A.replace("}", "sensitive = true\n}"), A),
    ("input_added", "compatible", "", A),
    ("input_made_optional", "compatible", REQUIRED, A),
    ("input_type_widened", "compatible", A, A.replace("= string", "= any")),
    ("input_deprecated", "compatible", A, A.replace("}", 'deprecated = "Use b."\n}')),
    ("output_removed", "breaking", output(), ""),
    ("output_type_narrowed", "breaking", typed("object({ a = string, b = number })"), typed("object({ a = string })")),
    (
        "output_type_extended",
        "compatible",
        typed("object({ a = string })"),
        typed("object({ a = string, b = number })"),
    ),
    ("output_type_changed", "risky", output(), typed("string")),
    ("output_sensitive", "breaking", output(), output("sensitive = true\n")),
    ("output_no_longer_sensitive", "risky", output("sensitive = true\n"), output()),
    ("output_added", "compatible", "", output()),
    ("output_deprecated", "compatible", output(), output('deprecated = "Use b."\n')),
    ("resource_instances_replaced", "breaking", repeated("count"), repeated("for_each")),
    ("resource_instances_changed", "risky", repeated("for_each"), repeated("for_each").replace("var.x", "var.y")),
    ("resource_forgotten", "risky", VPC, needs("") + FORGOTTEN),
    ("import_added", "risky", VPC, VPC + 'import {\n  to = aws_vpc.this\n  id = "vpc-1"\n}\n'),
    ("action_removed", "risky", ACTION, needs("")),
    ("action_added", "compatible", VPC, VPC + ACTION),
    ("resource_removed", "breaking", VPC, needs("")),
    ("placeholder_removed", "risky", 'resource "null_resource" "x" {}\n', VPC),
    ("resource_moved", "compatible", VPC, VPC.replace("this", "main") + MOVED),
    ("resource_added", "compatible", VPC, VPC + VPC.replace("this", "other")),
    ("call_changed", "risky", CALL, CALL.replace("./net", "acme/net/aws")),
    ("provider_added", "risky", "", needs("")),
    ("provider_replaced", "breaking", needs(">= 5.0"), needs(">= 5.0", source="acme/aws")),
    ("provider_alias_added", "breaking", needs(">= 5.0"), needs(">= 5.0", more=ALIAS)),
    ("provider_alias_removed", "breaking", needs(">= 5.0", more=ALIAS), needs(">= 5.0")),
    ("provider_removed", "compatible", needs(""), ""),
    ("provider_constraint_raised", "breaking", needs(">= 4.0"), needs("~> 5.0")),
    ("provider_constraint_narrowed", "risky", needs("~> 5.0"), needs("~> 5.10")),
    ("provider_constraint_widened", "compatible", needs("~> 5.0"), needs(">= 5.0, < 7.0")),
    ("provider_constraint_changed", "risky", needs("~> 5.0"), needs("five")),
    ("client_constraint_raised", "breaking", client(">= 0.13"), client(">= 1.5")),
    ("client_constraint_narrowed", "risky", client(">= 1.3"), client(">= 1.5")),
    ("client_constraint_widened", "compatible", client(">= 1.5"), client(">= 1.3")),
    ("client_constraint_changed", "risky", client(">= 1.5"), client("one")),
]


def changes(before, after):
    old, new = (files if isinstance(files, dict) else {"main.tf": files} for files in (before, after))
    documents = [inspect({name: text.encode() for name, text in files.items()}, {}) for files in (old, new)]
    return between(*documents)


@pytest.mark.slow
@for_each_row(("rule", "severity", "before", "after"), CASES, ids=[case[0] for case in CASES])
def test_each_rule_finds_its_change(rule, severity, before, after):
    found = {change.rule: change.severity for change in changes(before, after)}

    assert found.get(rule) == severity, found
    assert {change.rule for change in changes(before, before)} == set()


def test_constraints_and_moves_have_further_cases():
    many = ", ".join(f"!= 1.{minor}" for minor in range(200))  # hundreds of terms are not read
    for before, after, rule, severity in (
        (needs(""), needs(">= 4.0"), "provider_constraint_narrowed", "risky"),
        (needs(">= 4.0"), needs(">= 4.9, < 6.0"), "provider_constraint_narrowed", "risky"),
        (needs(many), needs(">= 2.0"), "provider_constraint_changed", "risky"),
    ):
        assert [(change.rule, change.severity) for change in changes(before, after)] == [(rule, severity)]
    moved = "moved {\n  from = aws_vpc.this[0]\n  to   = module.net.aws_vpc.this\n}\n"
    assert "resource_removed" not in {change.rule for change in changes(VPC, CALL + moved)}


def test_submodules_have_changes_of_their_own_and_examples_none():
    before = {"main.tf": A, "modules/net/main.tf": A, "modules/old/main.tf": A, "examples/x/main.tf": A}
    after = {"main.tf": A, "modules/net/main.tf": REQUIRED, "modules/new/main.tf": A, "examples/x/main.tf": ""}
    found = [(change.rule, change.unit or change.name) for change in changes(before, after)]

    assert found == [
        ("submodule_removed", "modules/old"),
        ("input_made_required", "modules/net"),
        ("submodule_added", "modules/new"),
    ]
    assert severity_of(changes(before, after)) == "breaking"


def of_type(text, default=""):
    return f'variable "a" {{\n  type = {text}\n{f"  default = {default}" if default else ""}\n}}\n'


def test_what_an_object_loses_is_named_with_its_path_and_is_no_wider_type():
    before = of_type("list(object({ a = string, b = optional(object({ c = string, d = number })) }))")
    after = of_type("list(object({ b = optional(object({ c = string })), e = optional(string) }))")
    found = [(change.rule, change.before) for change in changes(before, after)]

    assert found == [("input_attribute_removed", "a, b.d")]


def test_the_default_of_an_attribute_is_one_too():
    before = of_type('object({ a = optional(number, 10), b = optional(string), c = optional(list(string), ["x"]) })')
    after = of_type("object({ a = optional(number, 2.5), b = optional(string, null), c = optional(list(string)) })")
    found = [(change.rule, change.before, change.after) for change in changes(before, after)]

    assert found == [
        ("input_default_changed", "a: 10", "a: 2.5"),
        ("input_default_changed", 'c: [ "x" ]', "c: null"),
    ]


@for_each_row(
    ("before", "after", "rule"),
    [
        (of_type("string", '"true"'), of_type("bool", "true"), "input_type_specified"),
        (of_type("string", '"10"'), of_type("number", "10"), "input_type_specified"),
        (of_type("string", '"on"'), of_type("bool", "true"), "input_type_narrowed"),
        (of_type("string", '"10"'), of_type("bool", "true"), "input_type_narrowed"),
        (of_type("string"), of_type("bool"), "input_type_narrowed"),
        (of_type("any", "{}"), of_type("map(string)", "{}"), "input_type_specified"),
        (of_type("any", "{}"), of_type("list(any)", "[]"), "input_type_narrowed"),
        (of_type("any", "[]"), of_type("object({ a = string })", "null"), "input_type_narrowed"),
        (of_type("any", "null"), of_type("list(string)", "[]"), "input_type_specified"),
    ],
)
def test_the_default_tells_what_an_open_type_stood_for(before, after, rule):
    assert [change.rule for change in changes(before, after) if change.rule.startswith("input_type")] == [rule]


def test_the_page_has_every_rule_with_its_severity():
    page = (sources.CHECKOUT / "docs/version-guard.md").read_text()
    tested = {rule: severity for rule, severity, *_ in CASES} | {
        "submodule_removed": "breaking",
        "submodule_added": "compatible",
    }

    assert tested.keys() == SENTENCES.keys()
    assert all(f"| `{rule}` | {tested[rule]} | {sentence} |" in page for rule, sentence in SENTENCES.items())
