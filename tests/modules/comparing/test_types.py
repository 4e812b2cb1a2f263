"""Types that take the values of others, and those that do not."""

import time

import pytest

from apps.lib.errors import Invalid
from apps.modules.comparing.types import accepts, specifies
from apps.modules.inspection.language.types import parse
from tests.rows import for_each_row

WIDENED = [
    ("string", "any"),
    ("string", ""),
    ("number", "string"),
    ("bool", "string"),
    ("set(string)", "list(string)"),
    ("list(number)", "list(string)"),
    ("list(string)", "list"),
    ("tuple([string, number])", "list(string)"),
    ("map(number)", "map(string)"),
    ("object({ a = string })", "map(string)"),
    ("object({ a = string, b = number })", "object({ a = string })"),
    ("object({ a = string })", "object({ a = string, b = optional(number, 5) })"),
    ("object({ a = string })", "object({ a = optional(string) })"),
    (
        'object({\n  a = string # the name\n  b = optional(list(string), ["x", "y(z"])\n})',
        "object({a=string,b=optional(any)})",
    ),
    ("object({ a = object({ b = string }) })", "object({ a = object({ b = optional(string) }) })"),
    ('"string"', "string"),
    ("object({\n  # one line\n  # and another\n  a = string /* x */ /* y */\n  // last\n})", "object({ a = string })"),
]
NARROWED = [
    ("any", "string"),
    ("", "list(string)"),
    ("string", "number"),
    ("string", "bool"),
    ("list(string)", "list(number)"),
    ("list(string)", "string"),
    ("list(string)", "map(string)"),
    ("map(string)", "object({ a = string })"),
    ("object({ a = string })", "object({ a = string, b = number })"),
    ("object({ a = optional(string) })", "object({ a = string })"),
    ("object({ a = string })", "object({ a = number })"),
    ("tuple([string])", "tuple([string, string])"),
]


@for_each_row(("before", "after"), WIDENED)
def test_a_type_that_takes_more_takes_all_that_was_taken(before, after):
    assert accepts(parse(after), parse(before))


@for_each_row(("before", "after"), NARROWED)
def test_a_type_that_refuses_something_is_narrower(before, after):
    assert not accepts(parse(after), parse(before))


@for_each_row(
    ("before", "after"),
    [
        ("any", "string"),
        ("", "list(object({ a = string }))"),
        ("list(any)", "list(string)"),
        ("list(map(string))", "list(object({ a = string, b = optional(string) }))"),
        ("object({ a = any })", "object({ a = bool })"),
        ("map(string)", "object({ a = optional(number), b = bool, c = string })"),
    ],
)
def test_a_type_that_names_what_was_left_open_only_specifies_it(before, after):
    assert specifies(parse(after), parse(before))
    assert not accepts(parse(after), parse(before))


@for_each_row(("before", "after"), [case for case in NARROWED if "any" not in case and case[0]])
def test_what_was_said_before_is_not_specified_but_narrowed(before, after):
    assert specifies(parse(after), parse(before)) == (before == "map(string)")


@for_each_row(
    "text", ["list(", "object({ a })", "strin g", "var.x", "tuple(string)", "list(" * 300 + "any" + ")" * 300]
)
def test_what_is_no_type_is_refused(text):
    with pytest.raises(Invalid):
        parse(text)


@for_each_row("end", ['"' + '\\"' * 30_000, "/* " * 20_000, "a" + ".a" * 30_000])
def test_a_text_without_end_is_read_once(end):
    begin = time.process_time()
    with pytest.raises(Invalid):
        parse(f"object({{ a = optional(string, {end}")
    assert time.process_time() - begin < 5
