"""The constructs of the last client releases, in both syntaxes: tests/builders/constructs.py has all of them."""

import pytest

from apps.modules.inspection.blocks import MAX_VALUE_BYTES
from apps.modules.inspection.inspecting import inspect
from apps.modules.inspection.loading import faults_in
from tests.builders import constructs
from tests.modules.inspection.inspections import messages, unit_of
from tests.rows import for_each_row

PLACES = {"file", "line"}


def units_of(files):
    document = inspect({path: text.encode() for path, text in files.items()}, {})
    return {unit["path"]: unit for unit in document["units"]}, document


def without_places(unit):
    return {
        part: [{key: value for key, value in row.items() if key not in PLACES} for row in rows]
        for part, rows in unit.items()
        if isinstance(rows, list)
    }


@pytest.fixture(params=["HCL", "JSON"])
def read(request):
    return units_of(getattr(constructs, request.param))


def test_every_construct_of_the_root_is_read(read):
    units, _ = read
    root = without_places(units[""])

    assert root["compatible_with"] == [{"client": "opentofu", "text": ">= 1.12"}]
    assert root["required_version"] == [{"text": ">= 1.7"}]
    assert [(one["name"], one["const"]) for one in root["variables"]] == [("names", False), ("flavour", True)]
    assert [(one["name"], one["repetition"]) for one in root["resources"]] == [
        ("box", "for_each"),
        ("shelf", "count"),
        ("door", ""),
    ]
    calls = {one["name"]: (one["source"], one["computed"], one["repetition"]) for one in root["calls"]}
    assert calls["parts"] == ("./modules/plain", [], "for_each")
    assert calls["flavoured"] == ("./modules/${var.flavour}", ["source"], "")
    assert calls["remote"][1:] == (["source"], "count")
    assert root["moved"] == [{"from": "terraform_data.crate", "to": 'terraform_data.box["a"]'}]
    assert root["removed"] == [
        {"from": "terraform_data.attic", "destroy": False},
        {"from": "terraform_data.cellar", "destroy": True},
    ]
    assert root["warnings"] == []


def test_every_construct_of_terraform_alone_is_read(read):
    units, _ = read
    tasks = without_places(units["modules/tasks"])

    assert tasks["actions"] == [
        {"type": "aws_lambda_invoke", "name": "warm", "provider": "aws"},
        {"type": "local_command", "name": "note", "provider": "shell"},
    ]
    assert [one["name"] for one in tasks["providers"]] == ["aws", "shell"]  # nothing but actions uses them
    assert [one["type"] for one in tasks["outputs"]] == ["object({ name = string, ports = list(number) })"]
    assert [one["const"] for one in tasks["variables"]] == [True, False]
    assert tasks["removed"] == [{"from": "terraform_data.shed", "destroy": None}]
    assert tasks["imports"] == [{"to": 'terraform_data.kept["a"]'}]
    assert tasks["queries"] == [{"type": "aws_instance", "name": "old", "provider": "aws"}]
    assert tasks["migrations"] == [{"kind": "backend", "type": "s3"}]
    assert tasks["warnings"] == []


def test_both_syntaxes_mean_the_same():
    (hcl, _), (in_json, _) = units_of(constructs.HCL), units_of(constructs.JSON)
    for unit in (*hcl.values(), *in_json.values()):
        for row in unit["variables"]:
            row["default"] = row["default"] and row["default"].replace('"', "")
        for call in unit["calls"]:
            call["source"] = call["source"].removeprefix("${").removesuffix("}").replace("\\", "")

    assert {path: without_places(unit) for path, unit in in_json.items()} == {
        path: without_places(unit) for path, unit in hcl.items()
    }


def test_nothing_of_it_is_a_fault_a_computed_source_names_no_folder_and_a_hidden_default_is_nowhere(read):
    _, document = read
    assert document["faults"] == {}
    assert faults_in(document, constructs.HCL) == []
    assert "hunter2" not in str(read)


def test_queries_make_no_module_and_no_inputs_and_a_damaged_one_is_a_warning_and_no_fault():
    text = 'variable "x" {}\nprovider "aws" {}\nresource "a_b" "c" {}\n'
    queries = {"old.tfquery.hcl": text, "queries/old.tfquery.hcl": constructs.HCL["modules/tasks/old.tfquery.hcl"]}
    found, _ = units_of({"main.tf": "", **queries})
    assert list(found) == [""]
    assert not any(found[""][part] for part in ("variables", "providers", "resources", "warnings"))

    _, document = units_of({"main.tf": "", "old.tfquery.hcl": 'list "a" "b" {', "new.tfquery.json": "{"})
    assert document["faults"] == {}
    assert {one["file"] for one in document["units"][0]["warnings"]} == {"old.tfquery.hcl", "new.tfquery.json"}


@for_each_row(
    ("lifecycle", "destroy"),
    [
        ("", None),
        ("lifecycle {}", None),
        ("lifecycle {\n destroy = false\n }", False),
        ('lifecycle {\n destroy = "false"\n }', False),
        ("lifecycle {\n destroy = var.gone\n }", True),  # nobody may rely on it
    ],
)
def test_only_a_removed_block_that_says_so_destroys_nothing(lifecycle, destroy):
    (row,) = unit_of(f"removed {{\n  from = a.b\n  {lifecycle}\n}}\n").parts["removed"]
    assert row["destroy"] is destroy


def test_the_map_of_a_for_each_may_be_as_long_as_the_file():
    entries = "\n".join(f'    key{number} = "{"x" * 60}"' for number in range(MAX_VALUE_BYTES // 60))
    unit = unit_of(f'resource "a_b" "c" {{\n  for_each = {{\n{entries}\n  }}\n}}\n')
    assert messages(unit) == []
    assert unit.parts["resources"][0]["repetition"] == "for_each"


def test_constraints_of_several_clients_are_told_apart():
    text = 'language {\n  compatible_with {\n    opentofu = "~> 1.12"\n    other  = "2"\n  }\n}\n'
    found = unit_of(text).parts["compatible_with"]
    assert [(one["client"], one["text"], one["line"]) for one in found] == [
        ("opentofu", "~> 1.12", 3),
        ("other", "2", 4),
    ]
