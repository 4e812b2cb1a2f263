"""The folders that are units, and their files."""

import fnmatch

from apps.modules.inspection import WANTED, units
from tests.builders import modules
from tests.rows import for_each_row


def read(*paths, text=b"variable x {}\n"):
    texts = dict.fromkeys(paths, text)
    return units.read_module(texts, {path: len(text) for path in paths})["units"]


def test_root_first_then_submodules_and_examples_then_what_lies_deeper_or_elsewhere():
    paths = ("main.tf", "examples/b/x.tf", "examples/a/x.tf", "modules/z/x.tf", "modules/y/x.tofu.json")
    deeper = ("modules/y/b/x.tf", "modules/y/tests/x.tf", "modules/tests/x.tf", "examples/b/c/x.tf", "wrappers/x.tf")
    found = read(*paths, *deeper, "modules/x.tf", "examples/x.tf", ".ci/x.tf", text=b"{}")
    assert [(unit["path"], unit["kind"], unit["name"]) for unit in found] == [
        ("", "root", ""),
        ("modules/tests", "submodule", "tests"),
        ("modules/y", "submodule", "y"),
        ("modules/z", "submodule", "z"),
        ("examples/a", "example", "a"),
        ("examples/b", "example", "b"),
        ("modules/y/b", "submodule", "b"),
        ("examples/b/c", "example", "c"),
        (".ci", "other", ".ci"),
        ("examples", "other", "examples"),
        ("modules", "other", "modules"),
        ("modules/y/tests", "other", "tests"),
        ("wrappers", "other", "wrappers"),
    ]


def test_only_folders_that_hold_module_files_are_units_and_only_its_own_files_belong_to_each():
    paths = ("main.tf", "modules/readme.md", "modules/x/README.md", "modules/a/b/main.tf", "examples/x/main.txt")
    found = {unit["path"]: [entry["file"] for entry in unit["variables"]] for unit in read(*paths, "modules/a/main.tf")}
    assert found == {"": ["main.tf"], "modules/a": ["modules/a/main.tf"], "modules/a/b": ["modules/a/b/main.tf"]}


def test_hidden_files_and_leftovers_of_editors_are_passed_over():
    (root,) = read("main.tf", ".hidden.tf", "#main.tf#", "main.tf~", "main.tf.bak", "main.tftest.hcl")
    assert len(root["variables"]) == 1
    assert root["warnings"] == []


def test_a_tofu_file_hides_the_tf_file_of_the_same_name():
    texts = {
        "a.tf": b"variable from_tf {}\n",
        "a.tofu": b"variable from_tofu {}\n",
        "b.tf.json": b'{"variable": {"from_tf_json": {}}}',
        "b.tofu.json": b'{"variable": {"from_tofu_json": {}}}',
        "c.tf": b"variable alone {\n  default = 1\n}\n",
        "c.tofu.json": b'{"variable": {"beside": {}}}',
        "override.tf": b"variable alone {\n  default = 2\n}\n",
        "override.tofu": b"variable alone {\n  default = 3\n}\n",
    }
    (root,) = units.read_module(texts, {})["units"]
    names = [entry["name"] for entry in root["variables"]]
    assert names == ["from_tofu", "from_tofu_json", "alone", "beside"]
    assert root["variables"][2]["value"] == 3


def test_an_archive_without_module_files_has_an_empty_root():
    (root,) = units.read_module({}, {"README.md": 3})["units"]
    assert root == {
        "path": "",
        "kind": "root",
        "name": "",
        "readme": "",
        "summary": "",
        "required_version": [],
        "variables": [],
        "outputs": [],
        "resources": [],
        "providers": [],
        "calls": [],
        "warnings": [],
    }


@for_each_row("module", [modules.network, modules.kubernetes, modules.label])
@for_each_row("version", modules.HISTORY)
def test_the_modules_that_tests_are_built_from_are_read_without_a_warning(module, version):
    files = module(version)
    found = units.read_module(files, {path: len(data) for path, data in files.items()})["units"]
    assert [unit["path"] for unit in found if unit["warnings"]] == []
    assert len(found) >= 3
    assert "(unknown)" not in str(found)


def test_what_is_wanted_of_an_archive_are_the_files_of_its_units():
    files = modules.network("2.0.0")
    wanted = {path for path in files if any(fnmatch.fnmatchcase(path.lower(), pattern) for pattern in WANTED)}
    assert {path for path in files if path.endswith(".tf")} <= wanted
    assert {path for path in wanted if path.endswith(".md")} == {
        path for path in files if path.endswith("README.md") and path != "README.md"
    }
