"""The inspection as the pipeline asks for it: in a confined process, and never failing a publish."""

import pytest

from apps.lib.sandbox import parent, starter
from apps.modules.inspection import inspecting, units
from tests.builders import modules
from tests.rows import for_each_row


def sizes_of(files):
    return {path: len(data) for path, data in files.items()}


@for_each_row("cores", [1, 2, 3, 9])
def test_any_number_of_children_reads_what_this_process_would(monkeypatch, cores):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    monkeypatch.setattr(inspecting, "BYTES_FOR_A_CHILD", 1)
    broken = {"modules/broken/main.tf": b"variable {}", "modules/cut/main.tf": b'x = "'}
    folders = {
        f"modules/m{number}/main.tf": b"".join(b'variable "x%d" {}\n' % at for at in range(number))
        for number in range(1, 9)
    }
    files = modules.network("2.0.0") | broken | folders
    document = inspecting.inspect(files, sizes_of(files))
    assert document == units.read_module(files, sizes_of(files))
    assert list(document["faults"]) == ["modules/broken", "modules/cut"]


def test_only_module_files_are_sent_and_a_name_with_any_characters_comes_back():
    files = modules.label() | {"state.bin": b"\0" * 1000, 'modules/ä "x"/main.tf': b"variable x {}"}
    sent = {path: data for path, data in files.items() if path != "state.bin"}
    found = inspecting.inspect(files, sizes_of(files))
    assert found == inspecting.inspect(sent, sizes_of(sent))
    (odd,) = [unit for unit in found["units"] if "ä" in unit["path"]]
    assert odd["variables"][0]["file"] == 'modules/ä "x"/main.tf'


def test_texts_that_are_hostile_cost_warnings():
    files = {
        "nul.tf": b"\0",
        "latin.tf": b"\xff",
        "deep.tf": b"[" * 100_000,
        "open.tf": b'x = "',
        "deep.tf.json": b"[" * 100_000,
        "main.tf": b"variable x {}",
    }
    (root,) = inspecting.inspect(files, sizes_of(files))["units"]
    assert [entry["name"] for entry in root["variables"]] == ["x"]
    assert {note["file"] for note in root["warnings"]} == set(files) - {"main.tf"}


SLOW = {f"f{number}.tf": b"-" * 1_000_000 for number in range(8)}


@pytest.mark.slow
@for_each_row(
    ("limits", "files"),
    [
        (parent.Limits(seconds=1), SLOW),
        (parent.Limits(memory_bytes=48 * 1024 * 1024), SLOW),
        (parent.Limits(document_bytes=1000), modules.label()),
    ],
    ids=["time", "memory", "answer"],
)
def test_a_child_that_dies_leaves_a_page_with_one_warning(monkeypatch, limits, files):
    monkeypatch.setattr(inspecting, "LIMITS", limits)
    document = inspecting.inspect(files, sizes_of(files))
    (root,) = document["units"]
    assert document["failed"]
    assert (root["kind"], root["variables"], len(root["warnings"])) == ("root", [], 1)
    assert root["warnings"][0]["message"].startswith("The module files were not read")


def test_a_child_that_cannot_start_leaves_a_page_with_one_warning(monkeypatch, tmp_path):
    starter.retire()
    monkeypatch.setattr("sys.executable", str(tmp_path / "gone"))
    (root,) = inspecting.inspect({"main.tf": b"variable x {}"}, {"main.tf": 13})["units"]
    assert "failed" in root["warnings"][0]["message"]
