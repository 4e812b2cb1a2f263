"""Other programs carry a bundle: skopeo, through a registry that is no Larder."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.contrib.copy.bundle import contents
from apps.releases.models import Release
from bench import references
from tests.needs import needs

pytestmark = pytest.mark.needs("skopeo")


@pytest.fixture
@needs("docker-registry")
def registry(tmp_path: Path) -> Iterator[str]:
    """The host of a registry that knows nothing of Larder."""
    with references.docker_registry(tmp_path / "registry") as server:
        yield server.url.removeprefix("http://")


def copy(source: str, target: str) -> None:
    words = ["skopeo", "--insecure-policy", "copy", "--src-tls-verify=false", "--dest-tls-verify=false", source, target]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_plain_registry_carries_a_bundle_with_its_signature_into_a_third_larder(carried, bring, registry, tmp_path):
    for name in (contents.ROOT_NAME, contents.SIGNATURE_NAME):
        copy(f"oci:{carried.whole}:{name}", f"docker://{registry}/carried/larder:{name}")
        copy(f"docker://{registry}/carried/larder:{name}", f"oci:{tmp_path / 'back'}:{name}")

    opened = carried.opened(tmp_path / "back")

    assert (opened.root, opened.catalogue) == (carried.roots["whole"], carried.opened().catalogue)
    assert bring(tmp_path / "back").problems == []
    assert Release.objects.published().count() == 4


def test_a_module_is_copied_by_its_name_with_its_digest(carried, tmp_path):
    copy(f"oci:{carried.whole}:acme/vpc/aws:1.2.0", f"oci:{tmp_path / 'vpc'}:1.2.0")

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
