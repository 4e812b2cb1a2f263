"""Each way in which clients get a token installs what is private; once the token is revoked, the next request fails.

`terraform login` is in test_login.py.
"""

import base64
import json
from pathlib import Path

import pytest

from tests.e2e.conftest import archive
from tests.e2e.oci.clients import Tofu, digest_of
from tests.e2e.oci.programs import Program
from tests.e2e.oci.test_tofu import MIRROR
from tests.e2e.providers import require
from tests.e2e.workspace import Workspace, access_lines, said
from tests.live import Live

pytestmark = pytest.mark.live
REVOKE = """
from apps.accounts.access.gate import NOBODY
from apps.accounts.identity import tokens
tokens.revoke(token=tokens.identify("{}"), actor=NOBODY)
"""
PULL = f"{MIRROR}/shed/names"


@pytest.fixture
def token(live: Live) -> str:
    return live.token("admin", "read")


def revoke(live: Live, token: str) -> None:
    live.manage("shell", "--verbosity", "0", "-c", REVOKE.format(token))


def variable(host: str) -> str:
    """For a host with a port no shell can export it; `env` and CI systems can."""
    return f"TF_TOKEN_{host.replace('-', '__').replace('.', '_')}"


def test_a_variable_installs_a_private_module_and_provider(live, shelf, depot, terraform, token):
    workspace = terraform()
    workspace.environment[variable(live.host)] = token
    workspace.module("vpc", "acme/vpc/aws", "1.2.0")
    require(workspace, "shed/dns")

    done = workspace.init()
    assert done.returncode == 0, done.stderr
    assert workspace.installed() == {"vpc": "1.2.0"}

    revoke(live, token)
    refused = workspace.run("init", "-input=false", "-upgrade")
    assert refused.returncode == 1
    assert "401" in refused.stderr


def test_netrc_alone_installs_a_private_module_from_the_address_of_its_bytes(live, shelf, terraform, token):
    """Clients send what is in .netrc to archives only, never to the registry protocol."""
    with live.client(token) as client:
        location = client.get("/v1/modules/acme/vpc/aws/1.2.0/download").headers["X-Terraform-Get"]
    digest, file_name = location.split("?")[0].split("/")[-2:]
    source = f"https://{live.host}/archives/{digest}/{file_name}"

    def workspace() -> Workspace:
        made = terraform()
        made.netrc(token)
        (made.work / "main.tf").write_text(f'module "vpc" {{\n  source = "{source}"\n}}\n')
        return made

    done = workspace().init()
    assert done.returncode == 0, done.stderr

    revoke(live, token)
    refused = workspace().init()
    assert refused.returncode == 1
    assert "401" in refused.stderr


def test_netrc_goes_with_the_packages_of_a_private_provider(live, depot, terraform, token):
    workspace = terraform()
    workspace.environment[variable(live.host)] = depot.read
    workspace.netrc(token)
    require(workspace, "shed/dns")
    mark = said(live)

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    package = [line["auth"] for line in access_lines(live, mark) if line["path"].endswith("_amd64.zip")]
    # OpenTofu sends none: the link of a package carries its own permission (D6).
    assert set(package) == ({"basic"} if workspace.program.endswith("terraform") else {"none"})


@pytest.mark.needs("skopeo")
def test_docker_login_opens_private_modules_and_providers_as_packages(live, shelf, depot, token, tmp_path):
    skopeo = Program("skopeo", tmp_path, live)
    config = tmp_path / "home" / ".docker" / "config.json"
    config.parent.mkdir(parents=True)
    # As `docker login` does: https://docs.docker.com/reference/cli/docker/login/
    login = ("login", "--authfile", str(config), "--username", "ci", "--password-stdin", live.host)
    assert "Login Succeeded" in skopeo.done(*login, stdin=token)
    assert list(json.loads(config.read_text())["auths"]) == [live.host]

    def inspect(name: str) -> tuple[str, ...]:
        return ("inspect", "--raw", "--authfile", str(config), f"docker://{live.host}/{name}")

    assert "opentofu.modulepkg" in skopeo.done(*inspect("acme/vpc/aws:1.2.0"))
    assert "opentofu.provider" in skopeo.done(*inspect(f"{PULL}:1.1.0"))
    client = Tofu(live, password_in(config, live.host))
    assert client.module("acme/vpc/aws", tag="1.2.0") == archive("1.2.0", "acme/vpc/aws")
    with live.client(depot.read) as reader:
        document = reader.get("/v1/providers/shed/names/1.1.0/download/linux/amd64").json()
    assert digest_of(client.provider(PULL, version="1.1.0")) == f"sha256:{document['shasum']}"

    revoke(live, token)
    for name in ("acme/vpc/aws:1.2.0", f"{PULL}:1.1.0"):
        assert "unauthorized" in skopeo.refused(*inspect(name))


def password_in(config: Path, host: str) -> str:
    auth = json.loads(config.read_text())["auths"][host]["auth"]
    return base64.b64decode(auth).decode().partition(":")[2]
