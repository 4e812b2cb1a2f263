"""Names and counts equal those of python-hcl2, another reader by other people, over a corpus of real-looking files."""

from pathlib import Path

import hcl2
import pytest

from apps.modules.inspection.declarations import BUILT_IN
from apps.modules.inspection.units import read_unit
from tests.builders import modules
from tests.rows import for_each_row

CORPUS = Path(__file__).parents[1] / "hcl" / "corpus"
# python-hcl2 8.1.4 refuses these, OpenTofu does not.
BEYOND_THE_ORACLE = {
    "comments.tf": "a comment between a block's type and its label, or before an argument on its line",
    "unicode.tf": "names of letters beyond ASCII",
}
FILES = {path.name: path.read_bytes() for path in sorted(CORPUS.glob("*.tf"))} | {
    f"{module.__name__}/{path}": data
    for module in (modules.network, modules.kubernetes, modules.label)
    for path, data in sorted(module("2.0.0").items())
    if path.endswith(".tf")
}


def ours(data):
    parts = read_unit({"main.tf": data}).parts
    return {
        "variable": sorted(entry["name"] for entry in parts["variables"]),
        "output": sorted(entry["name"] for entry in parts["outputs"]),
        "module": sorted(entry["name"] for entry in parts["calls"]),
        "resource": of_mode(parts, "managed"),
        "data": of_mode(parts, "data"),
        "ephemeral": of_mode(parts, "ephemeral"),
        "required_providers": sorted(entry["name"] for entry in parts["providers"]),
        "required_version": sorted(entry["text"] for entry in parts["required_version"]),
    }


def of_mode(parts, mode):
    return sorted(f"{entry['type']}.{entry['name']}" for entry in parts["resources"] if entry["mode"] == mode)


def theirs(data):
    document = hcl2.loads(data.decode().replace("\r\n", "\n"))
    found = {
        kind: sorted(bare(name) for block in document.get(kind, []) for name in names(block)) for kind in ONE_LABEL
    }
    found |= {kind: sorted(two_labels(document.get(kind, []))) for kind in TWO_LABELS}
    found["data"] = sorted([*found["data"], *(name for block in document.get("check", []) for name in data_of(block))])
    terraform = document.get("terraform", [])
    required = {name for block in terraform for inner in block.get("required_providers", []) for name in names(inner)}
    used = {owner(label, body) for kind in TWO_LABELS for label, body in bodies(document, kind)}
    configured = {bare(name) for block in document.get("provider", []) for name in names(block)}
    found["required_providers"] = sorted((required | used | configured) - {BUILT_IN})
    found["required_version"] = sorted(
        bare(block["required_version"]) for block in terraform if "required_version" in block
    )
    return found


ONE_LABEL = ("variable", "output", "module")
TWO_LABELS = ("resource", "data", "ephemeral")


def bare(text):
    return text.strip('"')


def names(block):
    return [name for name in block if not name.startswith("__")]


def two_labels(blocks):
    return [f"{bare(kind)}.{bare(name)}" for block in blocks for kind in names(block) for name in names(block[kind])]


def data_of(check):
    return [found for label in names(check) for found in two_labels(check[label].get("data", []))]


def bodies(document, kind):
    nested = [check[label] for check in document.get("check", []) for label in names(check)] if kind == "data" else []
    for block in [*document.get(kind, []), *(inner for body in nested for inner in body.get("data", []))]:
        for label in names(block):
            yield from ((bare(label), block[label][name]) for name in names(block[label]))


def owner(label, body):
    return body["provider"].strip('${}"').partition(".")[0] if "provider" in body else label.partition("_")[0]


@pytest.mark.slow
def test_names_and_counts_are_those_of_the_oracle():
    compared = [name for name in FILES if name not in BEYOND_THE_ORACLE]
    assert len(compared) >= 40
    for name in compared:
        assert ours(FILES[name]) == theirs(FILES[name]), name


@for_each_row("name", FILES)
def test_no_file_of_the_corpus_costs_a_warning(name):
    assert read_unit({"main.tf": FILES[name]}).diagnostics == []


@pytest.mark.slow
@for_each_row("name", BEYOND_THE_ORACLE)
def test_what_the_oracle_refuses_is_read(name):
    with pytest.raises(Exception, match=r"Unexpected"):
        theirs(FILES[name])
    found = ours(FILES[name])
    assert (len(found["variable"]), len(found["output"])) == (1, 1)
