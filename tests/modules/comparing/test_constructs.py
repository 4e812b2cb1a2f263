"""The guard on the constructs of the last client releases, where a rule has more than one case."""

import json

from apps.modules.comparing.changes import between
from apps.modules.inspection.inspecting import inspect
from tests.modules.comparing.test_changes import (
    ACTION,
    CALL,
    VPC,
    A,
    changes,
    client,
    for_opentofu,
    needs,
    repeated,
    typed,
)
from tests.rows import for_each_row


@for_each_row(
    ("before", "after", "replaced"),
    [
        ("count", "for_each", True),
        ("for_each", "count", True),
        ("for_each", "", True),
        ("", "for_each", True),
        ("", "count", False),
        ("count", "", False),
        ("for_each", "for_each", False),
    ],
)
def test_instances_keep_their_addresses_only_without_for_each(before, after, replaced):
    found = {change.rule: change for change in changes(repeated(before), repeated(after))}

    assert ("resource_instances_replaced" in found) is replaced
    called = {change.rule for change in changes(of_call(before), of_call(after))}
    assert ("resource_instances_replaced" in called) is replaced


def of_call(by):
    return CALL.replace("}", f"  {by} = var.x\n}}") if by else CALL


def test_instances_that_are_moved_or_placeholders_are_not_destroyed():
    moved = 'moved {\n  from = aws_vpc.this[0]\n  to = aws_vpc.this["a"]\n}\n'
    assert not changes(repeated("count"), repeated("for_each") + moved)
    (found,) = changes(repeated("count", "null_resource"), repeated("for_each", "null_resource"))
    assert (found.rule, found.before, found.after) == (
        "placeholder_removed",
        "count",
        "for_each",
    )


EACH = "for_each = { for one in var.x : one.name => one if one.on }"


@for_each_row(
    ("before", "after", "is_changed"),
    [
        (EACH, EACH.replace("one.name", "one.id"), True),
        (EACH, EACH.replace("var.x", "var.y"), True),
        (EACH, EACH.replace(" : ", " :\n    # by name\n    "), False),
        (EACH, EACH.replace("one", "each_one"), True),
        ('for_each = toset(["a", "b"])', 'for_each = toset([\n    "a",\n    "b", // new\n  ])', False),
        ('for_each = toset(["a"])', 'for_each = toset(["a "])', True),
        ("for_each = " + "[" * 99 + '"a"' + "]" * 99, "for_each = " + "[" * 99 + '"b"' + "]" * 99, True),
        ("count = 1", "count = 2", False),
    ],
)
def test_another_for_each_is_risky_and_other_blanks_and_comments_are_no_change(before, after, is_changed):
    for block in (VPC, CALL):
        found = [one.rule for one in changes(*(block.replace("{", f"{{\n  {text}\n", 1) for text in (before, after)))]
        assert found == ["resource_instances_changed"] * is_changed


@for_each_row(
    ("before", "after", "is_changed"),
    [
        ("${toset(var.x)}", "${toset(var.y)}", True),
        ("${toset(var.x)}", "${ toset( var.x ) }", False),
        ({"a": 1}, {"b": 1}, True),
        ({"a": "${var.x}"}, {"a": "${var.x}"}, False),
    ],
)
def test_for_each_in_json_is_compared_likewise(before, after, is_changed):
    def files(value):
        call = {"module": {"net": {"source": "./net", "for_each": value}}}
        return {"main.tf.json": json.dumps(call | {"resource": {"aws_vpc": {"this": {"for_each": value}}}})}

    found = [change.rule for change in changes(files(before), files(after))]
    assert found == ["resource_instances_changed"] * (2 if is_changed else 0)


def test_both_syntaxes_have_the_same_expression_and_show_its_beginning():
    native, long = (VPC.replace("{", f"{{\n  for_each = {one}\n", 1) for one in ("toset(var.x)", f"{[1] * 400}"))
    in_json = json.dumps({"resource": {"aws_vpc": {"this": {"for_each": "${toset(var.x)}"}}}})
    assert changes(native, {"main.tf.json": in_json}) == []
    (one,) = changes(native, long)
    assert (one.before, one.after[:9], len(one.after)) == ("toset(var.x)", "[1, 1, 1,", 200)


def test_what_an_older_larder_read_otherwise_is_no_change():
    text = (
        A.replace("}", "const = true\n}") + repeated("for_each") + typed("string") + CALL.replace("./net", "./${var.x}")
    )
    old, now = (inspect({"main.tf": text.encode()}, {}) for _ in range(2))
    for part, key in (("variables", "const"), ("resources", "repetition"), ("outputs", "type")):
        for row in old["units"][0][part]:
            del row[key]
    old["units"][0]["calls"][0]["source"] = '"./${var.x}"'

    assert between(old, now) == []


def test_what_is_not_forgotten_counts_as_destroyed_and_the_provider_of_an_action_as_added():
    for lifecycle in ("", "lifecycle {\n    destroy = true\n  }"):
        removed = f"removed {{\n  from = aws_vpc.this\n  {lifecycle}\n}}\n"
        assert "resource_removed" in {change.rule for change in changes(VPC, needs("") + removed)}
    assert "provider_added" in {change.rule for change in changes("", ACTION)}


@for_each_row(
    ("before", "after", "rule"),
    [
        (for_opentofu(">= 1.12"), for_opentofu("~> 2.0"), "client_constraint_raised"),
        (client(">= 1.6"), client(">= 1.6") + for_opentofu(">= 1.12"), "client_constraint_narrowed"),
        (client("~> 1.6"), client("~> 1.6") + for_opentofu(">= 2.0"), "client_constraint_raised"),
        (for_opentofu(">= 1.13"), for_opentofu(">= 1.12"), "client_constraint_widened"),
    ],
)
def test_a_constraint_of_one_client_is_compared_with_what_held_for_it(before, after, rule):
    assert [(change.name, change.rule) for change in changes(before, after)] == [("opentofu", rule)]


@for_each_row(
    ("before", "after", "rule"),
    [
        ("list(string)", "set(string)", "output_type_narrowed"),  # nobody reads [0] of a set
        ("number", "string", "output_type_narrowed"),
        ("map(object({ a = string }))", "map(object({ a = string, b = string }))", "output_type_extended"),
        ("tuple([string])", "tuple([string, number])", "output_type_extended"),
        ("any", "string", "output_type_changed"),
        ("list(any)", "list(string)", "output_type_changed"),
        ("string", "strings", "output_type_changed"),
        ("list( string )", "list(string)", ""),
    ],
)
def test_what_an_output_offers_is_compared_by_its_type(before, after, rule):
    assert [change.rule for change in changes(typed(before), typed(after))] == ([rule] if rule else [])
