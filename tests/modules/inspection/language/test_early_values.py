"""Values that calls give to inputs that clients need on loading, as `init` of the clients says it."""

import os
import subprocess

import pytest

from apps.modules.inspection.units import read_module
from tests.modules.inspection.language import early
from tests.modules.inspection.language.archives import both, call
from tests.rows import for_each_row

LOADED = {
    "Terraform 1.15": early.ONLY_TERRAFORM,
    "OpenTofu": early.ONLY_OPENTOFU,
    "OpenTofu or Terraform 1.15": early.EVERYWHERE_WITH_CONST,
    "": early.EVERYWHERE,
}
ROWS = {name: (clients, files) for clients, rows in LOADED.items() for name, files in rows.items()}


def read(files):
    return read_module({path: text.encode() for path, text in files.items()}, {})


@for_each_row(("said", "files"), early.REFUSED.values(), ids=early.REFUSED)
def test_a_value_that_no_client_knows_in_time_is_a_fault_at_its_call(said, files):
    faults = [one for path in read(files)["faults"].values() for one in path]
    assert any(said in one["message"] for one in faults), faults
    for one in faults:
        assert files[one["file"]].splitlines()[one["line"] - 1].startswith(("module", "{", "  source")), one


@for_each_row(("clients", "files"), ROWS.values(), ids=ROWS)
def test_a_value_that_some_clients_know_in_time_needs_these(clients, files):
    found = read(files)
    assert found["faults"] == {}
    assert [one["text"] for one in found["units"][0].get("requires", ())][-1:] == [clients] * bool(clients)


def test_a_call_narrows_what_the_called_module_needs():
    """And its own callers need what is left."""
    files = early.ONLY_TERRAFORM["a resource in a branch that is not taken"]
    moved = {f"c/{path}": text for path, text in files.items()}
    found = read(moved | {"main.tf": call("./c", "c")})
    needed = {unit["path"]: [one["text"] for one in unit["requires"]] for unit in found["units"]}
    assert needed["c"] == ["Terraform", "Terraform 1.15"]
    assert needed[""] == ["Terraform 1.15"]
    assert needed["c/a"] == ["OpenTofu or Terraform 1.15"]


def test_a_call_whose_inputs_are_not_known_is_not_judged():
    escaped = 'module "a" {\n  source = "./a"\n  _ {\n    x = 1\n  }\n}\n'
    assert read(both(escaped, early.CONST))["faults"] == {}


@pytest.mark.slow
@pytest.mark.needs("tofu")
def test_an_installed_client_says_the_same_of_each_archive(tmp_path):
    alone = os.environ | {"HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    refused = {name: files for name, (_, files) in early.REFUSED.items()} | early.ONLY_TERRAFORM
    loaded = early.ONLY_OPENTOFU | early.EVERYWHERE_WITH_CONST | early.EVERYWHERE
    rows = [*((*one, True) for one in refused.items()), *((*one, False) for one in loaded.items())]
    for name, files, is_refused in rows:
        folder = tmp_path / name
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        done = subprocess.run(["tofu", "get"], cwd=folder, env=alone, capture_output=True, check=False)
        assert bool(done.returncode) == is_refused, (name, done)
