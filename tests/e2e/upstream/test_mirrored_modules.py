"""Real clients install a module of another registry from Larder, while that registry and its Git server are away."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.builders.git_servers import Site, git_site
from tests.e2e.providers import said_by
from tests.e2e.upstream.conftest import mirror_of
from tests.e2e.workspace import Workspace
from tests.live import Live, start_live
from tests.needs import CLIENTS
from tests.upstream import misbehaving

pytestmark = pytest.mark.live
ADDRESS = "acme/vpc/aws"
SECONDS = 120.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with git_site(tmp_path_factory.mktemp("module-git")) as found:
        yield found


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[Live]:
    allowed = {"LARDER_UPSTREAM_ALLOW": "127.0.0.0/8", "LARDER_SOURCES_ALLOW": "127.0.0.0/8"}
    with start_live(tmp_path_factory.mktemp("modules"), **allowed, LARDER_SOURCES_CA_FILE=site.ca_file) as found:
        yield found


@pytest.fixture(scope="module")
def mirrored(larder: Live, site: Site) -> dict:
    """The tag, once it is published. The registry ends then, and the Git server answers nothing."""
    code = site.repository("acme/terraform-aws-vpc")
    code.commit({"main.tf": 'output "greeting" {\n  value = "hello"\n}\n', "README.md": "# VPC\n"})
    code.tag("v1.2.3")
    token = larder.token()
    with misbehaving.running() as registry, larder.client(token) as client:
        where = f"git::{site.url_of('acme/terraform-aws-vpc')}?ref=v{{version}}"
        registry.add_module(ADDRESS, where, ["1.2.3"])
        mirror_of(larder, token, registry.host, url=registry.url)
        client.put("/api/v1/namespaces/community", json={"visibility": "public"}).raise_for_status()
        given = {"url": f"{registry.host}/{ADDRESS}"}
        made = client.post("/api/v1/namespaces/community/repositories", json=given)
        assert made.status_code == 201, made.text
        assert made.json()["forge"] == "registry"
        one = f"/api/v1/namespaces/community/repositories/{made.json()['id']}"
        client.post(f"{one}/sync", json={}).raise_for_status()
        (tag,) = _tags_once_published(client, one)
    assert tag["commit"] == code.head
    site.is_down = True
    return tag


@pytest.mark.parametrize("program", CLIENTS)
def test_a_mirrored_module_installs_while_its_registry_is_away(
    program: str, larder: Live, mirrored: dict, site: Site, tmp_path: Path
):
    asked = len(site.requests)
    space = Workspace(tmp_path / "workspace", program, larder)
    space.module("vpc", f"community/{mirrored['module']}", mirrored["tag"])

    done = space.init()

    assert done.returncode == 0, said_by(done)
    assert space.installed() == {"vpc": "1.2.3"}
    assert "hello" in (space.work / ".terraform/modules/vpc/main.tf").read_text()
    assert len(site.requests) == asked


def _tags_once_published(client: Any, one: str) -> list[dict]:
    deadline = time.monotonic() + SECONDS
    while True:
        tags = client.get(f"{one}/tags").json()["tags"]
        if tags and all(tag["verdict"] == "published" for tag in tags):
            return tags
        assert time.monotonic() < deadline, (tags, client.get(one).json()["log"])
        time.sleep(0.5)
