"""From one Larder into another with an empty database, by the commands of docs/air-gap.md, and then real clients."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.archives import module_zip
from tests.e2e.providers import require
from tests.live import Live, start_live

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with start_live(tmp_path_factory.mktemp("far"), why="the far side of an air gap") as larder:
        yield larder


@pytest.fixture(scope="module")
def crossed(live: Live, depot, far: Live, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    """What verify and import said of shed (private) and yard (public), and the keys."""
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
    created = live.manage("bundle", "create", str(folder / "bundle"), *chosen)
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
