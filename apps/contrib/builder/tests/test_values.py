"""apps.modules.usage: what people enter, checked against types, as HCL that clients read as it was meant."""

import json
import subprocess

import pytest

from apps.contrib.builder import values as usage_values
from apps.contrib.builder.values import Expression, as_json, read
from apps.lib.errors import Invalid
from apps.lib.hcl.texts import parse as parse_hcl
from apps.modules.inspection.inspecting import inspect
from apps.modules.inspection.language.types import parse
from tests.rows import for_each_row

OBJECT = "object({ name = string, size = optional(number), tags = optional(map(string)) })"
GOOD = [
    ("string", "10.0.0.0/16", '"10.0.0.0/16"'),
    ("string", 'say "hi" \\ ${x} %{y} $x', '"say \\"hi\\" \\\\ $${x} %%{y} $x"'),
    ("string", " two\nlines\t", '" two\\nlines\\t"'),
    ("string", "\x1b", '"\\u001b"'),
    ("string", "= var.name", "var.name"),
    ("string", '= "=${var.name}"', '"=${var.name}"'),
    ("string", "null", '"null"'),
    ("string", "= null", "null"),
    ("number", "12", "12"),
    ("number", " -1.5e3 ", "-1.5e3"),
    ("number", '"12"', '"12"'),
    ("bool", "true", "true"),
    ("bool", "= length(var.a) > 0", "length(var.a) > 0"),
    ("list(string)", '["a", "b",] # both', '["a", "b"]'),
    ("list(string)", '[  "a  b",\n\n // d\n /* c\n */ "/* c"  ]', '["a  b", "/* c"]'),
    ("set(number)", "[1, 2]", "[1, 2]"),
    ("list(string)", "[1, true]", "[1, true]"),
    ("map(string)", '{ a = "x", "b c" : "y" }', '{\n  a     = "x"\n  "b c" = "y"\n}'),
    ("map(string)", "{}", "{}"),
    ("tuple([string, number])", '["a", 1]', '["a", 1]'),
    (OBJECT, '{ name = "x" }', '{\n  name = "x"\n}'),
    (OBJECT, '{\n name = "x"\n size = null\n tags = { a = "b" }\n}', None),
    (
        f"list({OBJECT})",
        '[{ name = "x" }, { name = "y" }]',
        '[\n  {\n    name = "x"\n  },\n  {\n    name = "y"\n  },\n]',
    ),
    ("any", '{ a = [1, "x", { b = false }] }', None),
    ("", '"text"', '"text"'),
    ("list(string)", json.dumps(["subnet-0123456789"] * 5), "[\n" + '  "subnet-0123456789",\n' * 5 + "]"),
    ("map(string)", "= merge(var.a, { b = 1 })", "merge(var.a, { b = 1 })"),
    ("list(string)", '= [for one in var.a : "${one["name"]}-x"]', None),
]
WRONG = [
    ("number", "twelve", "expected a value as in HCL"),
    ("number", "12 13", "13"),
    ("number", "true", "found a bool, expected a number"),
    ("number", '"x"', "found a string, expected a number"),
    ("bool", "yes", "expected a value"),
    ("bool", "1", "found a number, expected a bool"),
    ("list(string)", '"a"', "found a string, expected a list"),
    ("list(string)", '{ a = "b" }', "found an object, expected a list"),
    ("list(number)", '[1, "x"]', "found a string at [1], expected a number"),
    ("list(string)", '["a" "b"]', "b"),
    ("list(string)", '["a"', "expected a value"),
    ("map(number)", '{ a = "x" }', "at a, expected a number"),
    ("tuple([string, number])", '["a"]', "found 1 elements, expected 2"),
    (OBJECT, "{ size = 1 }", "the attribute name is missing"),
    (OBJECT, '{ name = "x", nmae = "y" }', "no attribute nmae"),
    (OBJECT, '{ name = "x", tags = ["a"] }', "found a list at tags, expected a map"),
    ("map(string)", '{ a = "x", a = "y" }', "a twice"),
    ("any", '"${var.x}"', "Start with ="),
    ("any", '"a\nb"', "expected a value"),
    ("any", '"\\q"', "Write a backslash as"),
    ("any", '"\\ud800"', "Write a backslash as"),
    ("any", '"\\UFFFFFFFF"', "Write a backslash as"),
    ("any", "[" * 40 + "]" * 40, "levels"),
    ("any", "x = 1", "expected a value"),
    ("any", "1 /* x", "expected a value"),
    ("any", "<<EOT\nx\nEOT\n", "expected a value"),
    ("any", "1\ny = 2", "expected a value"),
    ("string", "=", "found nothing after ="),
    ("string", '= "x', "at the end"),
    ("string", "= x)", "without an opening one"),
    ("string", "= x\n}\nresource {", "on one line"),
    ("string", "= x # comment", "without comments"),
    ("string", "= <<EOT", "without comments"),
    ("string", '= "${"}"', "at the end"),
    ("string", "x" * 9_000, "characters"),
]


@for_each_row(("kind", "entered", "written"), GOOD)
def test_a_value_is_written_as_it_was_meant(kind, entered, written):
    value = read(entered, parse(kind))
    lines = usage_values.attributes([("x", value)])
    if written is not None:
        assert "\n".join(lines) == f"x = {written}"
    block = "\n".join(['variable "a" {', *(line.replace("x = ", "default = ", 1) for line in lines), "}"])
    (found,) = inspect({"main.tf": block.encode()}, {})["units"][0]["variables"]
    assert not inspect({"main.tf": block.encode()}, {})["units"][0]["warnings"], block
    if not isinstance(value, Expression):
        assert json.loads(json.dumps(found["value"]), parse_int=float) == as_json(value), block


@for_each_row(("kind", "entered", "problem"), WRONG)
def test_what_clients_would_refuse_is_refused_with_the_reason(kind, entered, problem):
    with pytest.raises(Invalid) as refusal:
        read(entered, parse(kind))
    assert problem in f"{refusal.value} {refusal.value.hint}"


@for_each_row("piece", [" ", "\n", "\t \n", "\v", "\u00a0", "# a\n", "// a\n", "/**/ ", "/* a\n */\n"])
def test_the_parser_reads_many_blanks_as_one(piece, monkeypatch):
    """Behind an error its time grows with their square, and anybody may send them."""
    lengths = []

    def seen(text, **more):
        lengths.append(len(text))
        return parse_hcl(text, **more)

    monkeypatch.setattr(usage_values, "parse", seen)
    with pytest.raises(Invalid):
        usage_values.literal("[ } " + piece * 1000)
    assert [length < 20 for length in lengths] == [True]


@pytest.mark.needs("terraform")
def test_terraform_formats_it_in_no_other_way():
    pairs = [(f"{'x' * number}_{number}", read(entered, parse(kind))) for number, (kind, entered, _) in enumerate(GOOD)]
    lines = ['module "a" {', *(f"  {line}" if line else "" for line in usage_values.attributes(pairs)), "}", ""]
    done = subprocess.run(
        ["terraform", "fmt", "-"], input="\n".join(lines), capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n") == lines
