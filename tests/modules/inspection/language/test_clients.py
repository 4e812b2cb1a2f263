"""Real clients say the same of the golden module, and of some of the mistakes.

The golden module has every block and argument that all clients know. By hand, its document was also compared with what
`terraform-config-inspect --json` says: names, types, lines, sources and constraints are equal. That tool lists neither
ephemeral resources nor the data source of a check. What only some releases know is in `newer.NEWER`: the loaders of
OpenTofu 1.12.6 and Terraform 1.11.4, 1.14.9, 1.15.9 and 1.16.0-rc2 took each of them as the table says.
"""

import json
import os
import subprocess

import pytest

from apps.modules.inspection.units import read_unit
from tests.modules.inspection.language.mistakes import mistakes
from tests.modules.inspection.language.samples import SAMPLES
from tests.needs import CLIENTS

GOLDEN = "\n".join(sample.hcl() for sample in SAMPLES)
EACH = 60  # every sixtieth mistake: all of them take minutes


def run(client, folder, *arguments):
    alone = os.environ | {"HOME": str(folder), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    return subprocess.run([client, *arguments], cwd=folder, env=alone, capture_output=True, check=False)


def test_the_golden_module_is_read_without_a_question_by_every_client():
    found = read_unit({"main.tf": GOLDEN.encode()})
    assert (found.faults, found.diagnostics, found.parts.get("requires")) == ([], [], None)


@pytest.mark.needs("tofu")
def test_the_golden_module_is_what_its_client_shows(tmp_path):
    (tmp_path / "main.tf").write_text(GOLDEN)
    shown = run("tofu", tmp_path, "show", "-json", "-module=.")
    document = json.loads(shown.stdout)
    module = document["root_module"]
    ours = read_unit({"main.tf": GOLDEN.encode()}).parts

    assert {one["name"] for one in ours["variables"]} == set(module["variables"])
    assert {one["name"] for one in ours["outputs"]} == set(module["outputs"])
    assert {one["name"]: (one["source"], one["version"]) for one in ours["calls"]} == {
        name: (one["source"], one["version_constraint"]) for name, one in module["module_calls"].items()
    }
    assert {(one["mode"], one["type"], one["name"]) for one in ours["resources"]} == {
        (one["mode"], one["type"], one["name"]) for one in module["resources"]
    }
    assert {one["name"] for one in ours["providers"]} == {one["name"] for one in document["provider_config"].values()}


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_real_clients_refuse_the_mistakes(client, tmp_path):
    loaded = []
    for at, (name, files) in enumerate([*mistakes()][::EACH]):
        folder = tmp_path / str(at)
        folder.mkdir()
        for path, text in files.items():
            (folder / path).write_text(text)
        if run(client, folder, "get", "-no-color").returncode == 0:
            loaded.append(name)
    assert loaded == []
