"""Larder says of small modules what three clients say of them, as recorded in `verdicts.jsonl`.

Each row has a kind, the files of a module, and who refuses to load it: "1" or "0" for OpenTofu 1.12.6, Terraform 1.11.4
and Terraform 1.16.0-rc2. Recorded with the clients' own loaders (`configs.LoadConfigDir` and `BuildConfig`, where calls
find empty modules) from about 43,000 generated modules: 136 expressions in every argument, 82 values in every place of
the JSON syntax, each block and argument in each other block, pairs of declarations and overrides, and broken syntax.
"""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from apps.modules.inspection.language.clients import OPENTOFU, RELEASES, TERRAFORM
from apps.modules.inspection.units import read_unit
from tests.needs import CLIENTS

ROWS = [json.loads(line) for line in (Path(__file__).parent / "verdicts.jsonl").read_text().splitlines()]
RECORDED = ((OPENTOFU, 12), (TERRAFORM, 11), (TERRAFORM, 16))
# A loaded module is installed too by `get`: then a call needs its module, and encryption a key.
NEEDS_MORE = ("module", "encryption", "required_version")
EACH = 90


@pytest.fixture(scope="module")
def read():
    """Each row with the unit of its files."""
    return [(row, read_unit({path: text.encode() for path, text in row["files"].items()})) for row in ROWS]


def verdict(unit):
    return "".join(str(unit.refusing >> RELEASES.index(release) & 1) for release in RECORDED)


@pytest.mark.slow
def test_larder_refuses_what_the_clients_refuse(read):
    said = [(row["kind"], row["files"], row["refusing"], verdict(unit)) for row, unit in read]
    assert [one for one in said if one[2] != one[3]] == []
    assert Counter(row["refusing"] for row in ROWS)["000"] > len(ROWS) / 4, "many of them load everywhere"


@pytest.mark.slow
def test_what_no_client_loads_is_a_fault_with_its_place_and_what_some_load_names_them(read):
    for row, unit in read:
        assert bool(unit.faults) == (row["refusing"] == "111"), row
        for fault in unit.faults:
            assert 1 <= fault.line <= row["files"][fault.file].count("\n") + 1, row
            assert fault.message, row
        if "1" in row["refusing"] and "0" in row["refusing"]:
            named = [needed["text"] for needed in unit.parts["requires"]]
            assert all(named), row
            assert (row["refusing"][0] == "0") == all("OpenTofu" in text for text in named), row


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_an_installed_client_says_what_was_recorded(client, tmp_path):
    release = {"tofu": 0, "terraform": 1}[client]
    alone = os.environ | {"HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    for at, row in enumerate(ROWS[::EACH]):
        refuses = row["refusing"][release] == "1"
        if not refuses and any(word in text for word in NEEDS_MORE for text in row["files"].values()):
            continue
        folder = tmp_path / str(at)
        folder.mkdir()
        for path, text in row["files"].items():
            (folder / path).write_bytes(text.encode())
        done = subprocess.run([client, "get"], cwd=folder, env=alone, capture_output=True, check=False)
        assert (done.returncode != 0) == refuses, (row, done.stderr.decode())
