"""The provider network mirror, with real clients: addresses without a port, for a mirror's URL cannot carry one."""

import pytest

from tests.e2e.providers import configure, download, lock_of, require, said_by
from tests.e2e.workspace import access_lines, said

pytestmark = pytest.mark.live

# The host of the public URL is what LARDER_HOSTNAMES has where nobody sets it.
HOST = "127.0.0.1"


def mirrored(workspace, token: str = "", more: str = "") -> None:
    credentials = f'credentials "{workspace.host}" {{\n  token = "{token}"\n}}\n' if token else ""
    mirror = f'  network_mirror {{\n    url = "{workspace.larder.url}/v1/mirror/"\n  }}\n'
    configure(workspace, f"{credentials}provider_installation {{\n{mirror}{more}}}\n")


@pytest.mark.parametrize("address", ["shed/names", "yard/dns"])
@pytest.mark.smoke
def test_case_25_the_mirror_installs_with_both_hashes(live, depot, terraform, address):
    workspace = terraform()
    mirrored(workspace, depot.read if address.startswith("shed/") else "")
    require(workspace, address, host=HOST)
    mark = said(live)

    done = workspace.init()
    paths = [line["path"] for line in access_lines(live, mark)]

    assert done.returncode == 0, done.stderr
    assert f"Installed {HOST}/{address} v1.1.0" in done.stdout
    package = download(live, depot.read, address, "1.1.0")
    lock = lock_of(workspace)
    assert len(lock["h1"]) == 1
    # terraform 1.11 writes what it computed itself alone, tofu the `zh` of the platform too
    assert lock["zh"] == (set() if "terraform" in workspace.program else {package["shasum"]})
    assert "Incomplete lock file information" in said_by(done)
    assert paths[:2] == [f"/v1/mirror/{HOST}/{address}/index.json", f"/v1/mirror/{HOST}/{address}/1.1.0.json"]
    assert not any(path.startswith("/v1/providers/") for path in paths)


def test_its_h1_is_what_clients_compute_themselves(live, depot, terraform):
    workspace = terraform()
    require(workspace, "yard/names")
    assert workspace.init().returncode == 0
    with live.client() as client:
        archives = client.get(f"/v1/mirror/{HOST}/yard/names/1.1.0.json").json()["archives"]
    (computed,) = lock_of(workspace)["h1"]

    assert f"h1:{computed}" in archives["linux_amd64"]["hashes"]


@pytest.mark.parametrize("address", ["shed/names", "yard/nothing"])
def test_what_is_hidden_or_unknown_is_not_here_and_no_refusal(live, depot, terraform, address):
    """A client with `direct` behind the mirror continues: see the next test."""
    workspace = terraform()
    mirrored(workspace)
    require(workspace, address, host=HOST)

    done = workspace.init()

    assert done.returncode == 1
    assert "authentication credentials" not in said_by(done)
    assert "was not found in any of the search locations" in said_by(done)


def test_a_client_with_the_mirror_first_goes_on_to_direct(live, depot, terraform):
    """The address names the host with its port, of which no mirror can know: `direct` has it."""
    workspace = terraform()
    mirrored(workspace, more=f'  direct {{\n    include = ["{workspace.host}/*/*"]\n  }}\n')
    configured = (workspace.folder / "cli.tfrc").read_text()
    with_exclude = configured.replace('/v1/mirror/"\n', f'/v1/mirror/"\n    exclude = ["{workspace.host}/*/*"]\n')
    configure(workspace, with_exclude)
    require(workspace, "yard/dns")

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert "signed, key ID" in done.stdout
