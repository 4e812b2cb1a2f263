"""Other programs carry a bundle: skopeo through a layout of its own, as through a registry (a registry keeps bytes)."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from apps.contrib.copy.bundle import contents

pytestmark = pytest.mark.needs("skopeo")


def copy(source: str, target: str, *more: str) -> None:
    words = ["skopeo", "--insecure-policy", "copy", *more, f"oci:{source}", f"oci:{target}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_skopeo_carries_a_bundle_with_its_signature(carried, tmp_path):
    for name in (contents.ROOT_NAME, contents.SIGNATURE_NAME):
        copy(f"{carried.whole}:{name}", f"{tmp_path / 'back'}:{name}")

    opened = carried.opened(tmp_path / "back")

    assert opened.root == carried.roots["whole"]
    assert opened.catalogue == carried.opened().catalogue


def test_a_module_is_copied_by_its_name_with_its_digest(carried, tmp_path):
    copy(f"{carried.whole}:acme/vpc/aws:1.2.0", f"{tmp_path / 'vpc'}:1.2.0")

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
