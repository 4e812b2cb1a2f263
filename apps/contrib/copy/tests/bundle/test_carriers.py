"""Other programs read the layout of a bundle."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.needs("skopeo")
def test_a_module_is_copied_by_its_name_with_its_digest(carried, tmp_path):
    words = [f"oci:{carried.whole}:acme/vpc/aws:1.2.0", f"oci:{tmp_path / 'vpc'}:1.2.0"]
    subprocess.run(["skopeo", "--insecure-policy", "copy", *words], check=True)

    (entry,) = entries(tmp_path / "vpc")
    assert entry["digest"] == next(one.manifest for one in carried.opened().catalogue.items if one.version == "1.2.0")


def test_every_manifest_that_a_name_leads_to_is_there(carried):
    """Of the whole bundle and of one that leaves out what an earlier one has brought: tools read them all."""
    for folder in (carried.whole, carried.later):
        waiting = [entry["digest"] for entry in entries(folder)]
        while waiting:
            path = folder / "blobs" / "sha256" / waiting.pop().removeprefix("sha256:")
            waiting += [one["digest"] for one in json.loads(path.read_bytes()).get("manifests", ())]


def entries(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "index.json").read_bytes())["manifests"]
    return found
