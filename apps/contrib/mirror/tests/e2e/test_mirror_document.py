"""docs/mirror.md as a new user follows it: enable, configure, init, look; behind it a registry that runs here."""

import pytest

from apps.contrib.mirror.tests.e2e.conftest import mirror_of
from tests import documents
from tests.e2e.providers import configure, require, said_by
from tests.e2e.workspace import Workspace
from tests.needs import CLIENTS

pytestmark = pytest.mark.live

PAGE, EXAMPLE = "docs/mirror.md", "https://registry.example.com"
HOST = "registry.opentofu.org"


def block_of_the_page() -> str:
    [block] = [fence.text for fence in documents.fences(PAGE) if "network_mirror" in fence.text]
    return block


@pytest.mark.parametrize("program", CLIENTS)
def test_the_block_of_the_page_installs_a_public_provider(mirror, registry, tmp_path, program):
    registry.host = HOST
    registry.add_provider("hashicorp", "random", versions=["3.7.2"], platforms=["linux_amd64", "darwin_arm64"])
    mirror_of(mirror, mirror.token(), HOST, url=registry.url)
    space = Workspace(tmp_path / "work", program, mirror)
    assert EXAMPLE in block_of_the_page()
    configure(space, block_of_the_page().replace(EXAMPLE, mirror.url))
    require(space, "hashicorp/random", host=HOST)

    done = space.init()

    assert done.returncode == 0, said_by(done)
    assert "hashicorp/random v3.7.2" in done.stdout  # its own registry is not named
    with mirror.client() as anybody:
        [found] = anybody.get(f"/api/v1/upstreams/{HOST}/providers").json()["providers"]
        version = anybody.get(f"/api/v1/upstreams/{HOST}/providers/hashicorp/random/versions/3.7.2").json()
        page = anybody.get(f"/mirror/providers/{HOST}/hashicorp/random/3.7.2").text
    assert found["newest"] == "3.7.2"
    assert (version["verdict"], version["available"]) == ("first_seen", True)
    [stored] = [package for package in version["packages"] if package["stored"]]
    assert stored["origin"].startswith(registry.url)
    assert stored["digest"].removeprefix("sha256:") in page
    with mirror.client(mirror.token()) as staff:
        staff.delete(f"/api/v1/upstreams/{HOST}").raise_for_status()
