"""Real clients install a module of another registry from Larder, while that registry and its Git server are away."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.contrib.mirror.tests.e2e.conftest import mirror_of
from tests.builders import misbehaving
from tests.builders.git_servers import Site
from tests.e2e.providers import said_by
from tests.e2e.workspace import Workspace
from tests.live import Live
from tests.needs import CLIENTS

pytestmark = pytest.mark.live
ADDRESS = "acme/vpc/aws"
SECONDS = 120.0


@pytest.fixture(scope="module")
def mirrored(loopback: Live, git_server: Site) -> Iterator[dict]:
    """The tag, once it is published. The registry ends then, and the Git server answers nothing."""
    code = git_server.repository("mirrored/terraform-aws-vpc")
    code.commit({"main.tf": 'output "greeting" {\n  value = "hello"\n}\n', "README.md": "# VPC\n"})
    code.tag("v1.2.3")
    token = loopback.token()
    with misbehaving.running() as registry, loopback.client(token) as client:
        where = f"git::{git_server.url_of('mirrored/terraform-aws-vpc')}?ref=v{{version}}"
        registry.add_module(ADDRESS, where, ["1.2.3"])
        mirror_of(loopback, token, registry.host, url=registry.url)
        client.put("/api/v1/namespaces/community", json={"visibility": "public"}).raise_for_status()
        given = {"url": f"{registry.host}/{ADDRESS}"}
        made = client.post("/api/v1/namespaces/community/repositories", json=given)
        assert made.status_code == 201, made.text
        assert made.json()["forge"] == "registry"
        one = f"/api/v1/namespaces/community/repositories/{made.json()['id']}"
        client.post(f"{one}/sync", json={}).raise_for_status()
        (tag,) = _tags_once_published(client, one)
    assert tag["commit"] == code.head
    git_server.is_down = True
    yield tag
    git_server.is_down = False


@pytest.mark.parametrize("program", CLIENTS)
def test_a_mirrored_module_installs_while_its_registry_is_away(
    program: str, loopback: Live, mirrored: dict, git_server: Site, tmp_path: Path
):
    asked = requests(git_server)
    space = Workspace(tmp_path / "workspace", program, loopback)
    space.module("vpc", f"community/{mirrored['module']}", mirrored["tag"])

    done = space.init()

    assert done.returncode == 0, said_by(done)
    assert space.installed() == {"vpc": "1.2.3"}
    assert "hello" in (space.work / ".terraform/modules/vpc/main.tf").read_text()
    assert requests(git_server) == asked


def requests(site: Site) -> int:
    """Those for its repository: Larder looks at those of other tests now and then."""
    return sum("/mirrored/" in line for line in site.requests)


def _tags_once_published(client: Any, one: str) -> list[dict]:
    deadline = time.monotonic() + SECONDS
    while True:
        tags = client.get(f"{one}/tags").json()["tags"]
        if tags and all(tag["verdict"] == "published" for tag in tags):
            return tags
        assert time.monotonic() < deadline, (tags, client.get(one).json()["log"])
        time.sleep(0.5)
