"""required_providers blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.contrib.mirror.ahead.required_providers import parse_required
from apps.lib.errors import Invalid
from tests.rows import for_each_row

FORMS = [
    'terraform {{\n  backend "s3" {{ key = "${{var.x}}" }}\n  required_providers {{\n{}\n  }}\n  x = f(1)\n}}\n',
    "required_providers {{\n{}\n}}\n",
    "{}\n",
]


@for_each_row("form", FORMS)
def test_it_reads_requirements_in_each_form(form):
    entries = """\
    aws = "~> 5.0"
    mine = { source = "Registry.Example.com:8443/Acme/Tool", version = ">= 1, != 1.5.0" }
    random = {
      source = "hashicorp/random"
      configuration_aliases = [random.a, random.b]
    }
    other = { source = "random", version = "~>3.1" } // the same provider under another name
    terraform = { source = "terraform.io/builtin/terraform" }"""
    found = parse_required(form.format(entries), default_host="registry.opentofu.org")
    assert {f"{one}": str(constraints) for one, constraints in found.items()} == {
        "registry.opentofu.org/hashicorp/aws": "~> 5.0",
        "registry.example.com:8443/acme/tool": ">= 1.0.0, != 1.5.0",
        "registry.opentofu.org/hashicorp/random": "~> 3.1",
    }


@for_each_row(
    ("text", "part"),
    [
        ("", "requires no provider"),
        ("terraform { }", "requires no provider"),
        ('\nresource "a" "b" { }', "Line 2: found the block resource"),
        ("a = { source = b }", "Line 1: source of a is an expression"),
        ('a = { source = "b", colour = "c" }', "a has 'colour'"),
        ('a = { source = "a/b/c/d" }', "[host/][namespace/]type"),
        ('a = { source = "a/b_c" }', "letters, digits and dashes"),
        ('a = { source = "_a/c" }', "letters, digits and dashes"),
        ('a = { source = "a_/c" }', "letters, digits and dashes"),
        ('a = { source = "a--b/c" }', "letters, digits and dashes"),
        ('a = { source = "a/terraform-provider-b" }', "clients refuse"),
        ('a = { source = "xn--bcher-kva.example/a/b" }', "in its own letters"),
        ('a = { source = "a b/a/b" }', "is not a host name"),
        ('a = ""', "version constraint is empty"),
        ('a = { version = "latest" }', "version constraint 'latest'"),
        ("a = [1]", "a = a list"),
        ("required_providers {\na { }\n}", "Line 2: found the block a"),
        ('a = "1"\na = "2"', "Line 2: found a a second time"),
    ],
)
def test_it_refuses_other_requirements(text, part):
    with pytest.raises(Invalid) as refused:
        parse_required(text, default_host="registry.opentofu.org")
    assert part in f"{refused.value} {refused.value.hint}"


@given(st.text(alphabet='required_providers a/b/c {version=1.0,source[]}"\n#', max_size=150))
def test_any_text_is_read_or_refused(text):
    message = ""
    try:
        parse_required(text, default_host="a.example")
    except Invalid as refused:
        message = str(refused)
    assert len(message) < 400
