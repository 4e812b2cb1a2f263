"""What a document that is too long gives up: values first, names last."""

import json

import pytest

from apps.modules.inspection import units

MOST = 40_000
LONG = "x" * 1_000
SECRET = 'variable "s" {\n  default = "hunter2"\n  sensitive = true\n}\n'


@pytest.fixture(autouse=True)
def small_documents(monkeypatch):
    for module in ("units", "shedding"):
        monkeypatch.setattr(f"apps.modules.inspection.{module}.MOST_DOCUMENT_BYTES", MOST)


def root_of(text):
    data = text.encode()
    (root,) = units.read_module({"main.tf": data}, {"main.tf": len(data)})["units"]
    return root


def inputs(number, *, default="1", of="string", description="words"):
    block = 'variable "v%d" {\n  type = %s\n  default = "%s"\n  description = "%s"\n}\n'
    return "".join(block % (at, of, default, description) for at in range(number)) + SECRET


CASES = {
    "long defaults": (inputs(40, default=LONG), "defaults"),
    "long types": (inputs(40, of=f"object({{ {LONG} = string }})"), "defaults, types and rules"),
    "long descriptions": (inputs(40, description=LONG), "defaults, types and rules, descriptions"),
    "many": (inputs(399), "defaults, types and rules, descriptions, and 300 of 400 entries"),
}


@pytest.mark.parametrize(("text", "left_out"), CASES.values(), ids=CASES)
def test_a_unit_that_declares_too_much_keeps_names_longest(text, left_out):
    root = root_of(text)

    assert len(json.dumps(root)) <= MOST
    (warning,) = root["warnings"]
    assert warning["message"].startswith("not all is shown: this folder declares ")
    assert warning["message"].endswith(f" bytes. Left out are {left_out}")
    found = {row["name"]: row for row in root["variables"]}
    assert len(found) == (100 if "entries" in left_out else 41)
    assert (found["v0"]["default"], found["v0"]["required"]) == ("(unknown)", False)
    assert "value" not in found["v0"]
    assert found["v0"]["type"] == ("string" if left_out == "defaults" else "(unknown)")
    assert found["v0"]["description"] == ("" if "descriptions" in left_out else "words")
    assert (found["s"]["default"], found["s"]["sensitive"]) == ("(sensitive)", True), "pages that show files ask"


def test_what_fits_loses_nothing():
    root = root_of(inputs(20))

    assert root["warnings"] == []
    assert root["variables"][0]["value"] == "1"


def test_where_warnings_alone_are_too_long_one_is_left(monkeypatch):
    monkeypatch.setattr("apps.modules.inspection.shedding.MOST_DOCUMENT_BYTES", 2_000)

    root = root_of('x = "\n' * 2_000 + "output a {}\n")

    (warning,) = root["warnings"]
    assert warning["message"].startswith("not shown: what this folder declares is ")
    assert root["outputs"] == []
