"""A document that is too long for a page keeps its first entries and says how many it lost."""

import json

import pytest

from apps.modules.inspection import units
from tests.rows import for_each_row

MAX = 40_000
SLACK = 1_000  # names of units, and the warnings about what is left out


@pytest.fixture(autouse=True)
def small_documents(monkeypatch):
    monkeypatch.setattr("apps.modules.inspection.units.MAX_DOCUMENT_BYTES", MAX)


def read(**texts):
    files = {path.replace("__", "/") + "/main.tf": text.encode() for path, text in texts.items()}
    return units.read_module(files, {path: len(data) for path, data in files.items()})["units"]


def inputs(number, *, default="1"):
    block = 'variable "v%d" {\n  type = string\n  default = "%s"\n  description = "words"\n}\n'
    return "".join(block % (at, default) for at in range(number))


@for_each_row("text", [inputs(40, default="x" * 2_000), inputs(400)], ids=["long", "many"])
def test_the_first_entries_stay_whole_and_the_warning_counts_the_others(text):
    (unit,) = read(modules__a=text)

    assert MAX - 5_000 < len(json.dumps(unit)) <= MAX + SLACK
    names = [row["name"] for row in unit["variables"]]
    assert names == [f"v{at}" for at in range(len(names))]
    assert {row["type"] for row in unit["variables"]} == {"string"}
    lost = text.count("variable") - len(names)
    assert [warning["message"] for warning in unit["warnings"]] == [
        f"{lost} entries of this folder are not shown, because the module has too many declarations"
    ]


def test_the_folders_that_come_first_keep_their_entries():
    first, second, third = read(modules__a=inputs(20), modules__b=inputs(400), modules__c=inputs(2))

    assert (len(first["variables"]), first["warnings"]) == (20, [])
    assert first["variables"][0]["value"] == "1"
    assert 0 < len(second["variables"]) < 400
    assert third["variables"] == []
    assert [len(unit["warnings"]) for unit in (second, third)] == [1, 1]


def test_warnings_are_entries_as_well(monkeypatch):
    monkeypatch.setattr("apps.modules.inspection.units.MAX_DOCUMENT_BYTES", 2_000)

    (unit,) = read(modules__a="x {\n  a = 1 b = 2\n}\n" * 100 + "output a {}\n")

    assert len(json.dumps(unit)) <= 2_000 + SLACK
    assert "entries of this folder are not shown" in unit["warnings"][-1]["message"]


@for_each_row("count", [1, 2, 3])
def test_what_several_children_read_is_cut_as_one_document(count):
    files = {f"modules/m{at}/main.tf": inputs(60 * (at % 3 + 1)).encode() for at in range(6)}
    sizes = {path: len(data) for path, data in files.items()}
    folders = units.folders_of(files)

    parts = [units.read_folders(folders[at::count], files, sizes) for at in range(count)]

    assert units.joined(folders, parts) == units.read_module(files, sizes)
