"""From one Larder through a plain registry into another with an empty database, by the commands of docs/air-gap.md,
and then real clients.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from apps.contrib.copy.bundle.contents import ROOT_NAME, SIGNATURE_NAME
from bench import references
from tests.builders.archives import module_zip
from tests.e2e.providers import configure, require
from tests.e2e.workspace import Workspace
from tests.live import Live, start_live
from tests.needs import needs
from tests.programs import is_there

pytestmark = pytest.mark.live
CARRIER = "oras" if is_there("oras") else "skopeo"
MIRROR = """provider_installation {{
  oci_mirror {{
    repository_template = "{registry}/mirrored/${{namespace}}/${{type}}"
    include             = ["{host}/*/*"]
  }}
}}
"""


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with start_live(tmp_path_factory.mktemp("far"), why="the far side of an air gap") as larder:
        yield larder


@pytest.fixture(scope="module")
@needs("docker-registry")
def registry(live: Live, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host of a registry that knows nothing of Larder, with the certificate of the near one."""
    tls = live.data_dir / "tls"
    folder = tmp_path_factory.mktemp("plain") / "registry"
    with references.docker_registry(folder, (tls / "server.pem", tls / "server.key")) as server:
        yield server.url.removeprefix("https://")


def carry(live: Live, *words: str) -> None:
    """Run oras, or skopeo where it is not there."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME")} | {"SSL_CERT_FILE": str(live.ca_bundle)}
    done = subprocess.run([CARRIER, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def through(live: Live, registry: str, bundle: Path, back: Path) -> None:
    """Send the bundle to the registry, and fetch it from there."""
    there = f"{registry}/carried/larder"
    if CARRIER == "oras":
        carry(live, "cp", "--recursive", "--from-oci-layout", f"{bundle}:{ROOT_NAME}", f"{there}:{ROOT_NAME}")
        carry(live, "cp", "--recursive", f"{there}:{ROOT_NAME}", "--to-oci-layout", f"{back}:{ROOT_NAME}")
        return
    for name in (ROOT_NAME, SIGNATURE_NAME):
        carry(live, "--insecure-policy", "copy", f"oci:{bundle}:{name}", f"docker://{there}:{name}")
        carry(live, "--insecure-policy", "copy", f"docker://{there}:{name}", f"oci:{back}:{name}")


@pytest.fixture(scope="module")
@needs(CARRIER)
def crossed(
    live: Live, depot, far: Live, registry: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, Path]:
    """What verify and import said of shed (private) and yard (public), and the folder of the bundle and the keys."""
    folder = tmp_path_factory.mktemp("media")
    module = module_zip({"main.tf": 'output "crossed" {\n  value = true\n}\n'})  # needs no provider
    assert live.publish("shed/vpc/aws", "1.0.0", module, depot.token)["state"] == "published"
    with live.client() as client:
        keys = client.get("/api/v1/statement-keys").json()["keys"]
        pem = "".join(client.get(f"/api/v1/statement-keys/{one['id']}/pem").text for one in keys)
    (folder / "registry.pem").write_text(pem)
    chosen = ["--namespace", "shed", "--namespace", "yard"]
    planned = live.manage("bundle", "plan", *chosen)
    assert re.search(r"^\d+ of \d+ versions to carry, \d+ files, ", planned, re.MULTILINE), planned
    created = live.manage("bundle", "create", str(folder / "made"), *chosen)
    through(live, registry, folder / "made", folder / "bundle")
    said = ["bundle", "verify", str(folder / "bundle"), "--key", str(folder / "registry.pem")]
    verified = far.manage(*said)
    assert created.split()[1] in verified
    said[1] = "import"
    return verified, far.manage(*said, "--as", "admin"), folder


@pytest.mark.smoke
def test_clients_install_from_the_other_side(far, crossed, terraform):
    workspace = terraform(larder=far)
    workspace.credentials(far.token())
    workspace.module("vpc", "shed/vpc/aws", "1.0.0")
    require(workspace, "shed/dns", "1.1.0")

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert workspace.installed() == {"vpc": "1.0.0"}
    assert "Installed " in done.stdout


@pytest.mark.needs("tofu")
def test_tofu_installs_from_the_plain_registry(live, crossed, registry, tmp_path):
    made, workspace = crossed[2] / "made", Workspace(tmp_path / "tofu", "tofu", live)
    named = {
        one["annotations"]["org.opencontainers.image.ref.name"]: one["digest"]
        for one in json.loads((made / "index.json").read_bytes())["manifests"]
        if "annotations" in one
    }
    with httpx.Client(base_url=f"https://{registry}", verify=live.tls) as client:
        push(client, made, named["shed/vpc/aws:1.0.0"], "shed/vpc/aws", "1.0.0")
        push(client, made, named["shed/dns:1.1.0"], "mirrored/shed/dns", "1.1.0")
    configure(workspace, MIRROR.format(registry=registry, host=live.host))
    require(workspace, "shed/dns", "1.1.0")
    (workspace.work / "module.tf").write_text(
        f'module "vpc" {{\n  source = "oci://{registry}/shed/vpc/aws?tag=1.0.0"\n}}\n'
    )

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert "Installed " in done.stdout
    assert "vpc" in workspace.installed()


def push(client: httpx.Client, folder: Path, digest: str, name: str, tag: str = "") -> None:
    """Send a manifest by its tag after what it leads to, as `oras cp` does: skopeo loses the type of an index."""
    blobs = folder / "blobs" / "sha256"
    raw = (blobs / digest.removeprefix("sha256:")).read_bytes()
    manifest = json.loads(raw)
    for one in manifest.get("manifests", ()):
        push(client, folder, one["digest"], name)
    for one in (manifest["config"], *manifest["layers"]) if "layers" in manifest else ():
        begun = client.post(f"/v2/{name}/blobs/uploads/").raise_for_status()
        url = httpx.URL(begun.headers["Location"]).copy_merge_params({"digest": one["digest"]})
        client.put(url, content=(blobs / one["digest"].removeprefix("sha256:")).read_bytes()).raise_for_status()
    headers = {"Content-Type": manifest["mediaType"]}
    client.put(f"/v2/{name}/manifests/{tag or digest}", content=raw, headers=headers).raise_for_status()


def test_the_command_says_what_it_did_and_repeats_nothing(far, crossed):
    verified, imported, folder = crossed
    assert "The bundle is complete and unchanged: sha256:" in verified
    assert re.search(r"0 versions were here\. New: \d+ published\.", imported), imported

    again = far.manage(
        "bundle", "import", str(folder / "bundle"), "--key", str(folder / "registry.pem"), "--as", "admin"
    )

    assert re.search(r"^\d+ versions were here\. New: none\.$", again, re.MULTILINE)


def test_the_origin_of_a_version_names_its_bundle(live, far, crossed):
    with far.client(far.token()) as client:
        origin = client.get("/api/v1/modules/shed/vpc/aws/1.0.0/origin").json()

    assert {"name": "registry", "value": live.url} in [
        {"name": one["name"], "value": one["value"]} for one in origin["facts"]
    ]
