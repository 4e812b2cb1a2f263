from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders.archives import module_zip
from tests.builders.git_servers import Site
from tests.e2e.pages import Registry, registry_of_the_pages
from tests.e2e.workspace import Workspace
from tests.live import Live
from tests.needs import CLIENTS


@dataclass(frozen=True)
class Shelf:
    """The world of the conformance cases: a private and a public namespace with the same modules, and readers."""

    manage: str
    read: str


MODULE = {
    "main.tf": 'locals {\n  greeting = "hello from %s"\n}\n',
    "outputs.tf": 'output "greeting" {\n  value = local.greeting\n}\n',
    "modules/x/main.tf": 'output "x" {\n  value = "submodule"\n}\n',
    "README.md": "# vpc\n",
}


def archive(version: str, address: str = "") -> bytes:
    """Bytes that differ with the address as well: equal ones would be one blob, public where one of them is."""
    files = {name: text.replace("%s", version) for name, text in MODULE.items()}
    return module_zip(files, comment=address.encode())


@pytest.fixture(scope="session")
def shelf(live: Live) -> Shelf:
    manage, names = live.token(), {"acme": "private", "open": "public"}
    with live.client(manage) as client:
        made = [client.put(f"/api/v1/namespaces/{name}", json={"visibility": seen}) for name, seen in names.items()]
    if [answer.status_code for answer in made] != [200, 200]:  # as the tests of a room may have left it
        for address in ("acme/vpc/aws", "open/vpc/aws"):
            for version in ("1.0.0", "1.1.0", "1.2.0", "2.0.0-rc.1"):
                assert live.publish(address, version, archive(version, address), manage)["state"] == "published"
        early = archive("1.0.0-beta.1")
        assert live.publish("open/early/aws", "1.0.0-beta.1", early, manage)["state"] == "published"
    return Shelf(manage=manage, read=live.token("admin", "read"))


@pytest.fixture(scope="package")
def example(tmp_path_factory: pytest.TempPathFactory, git_server: Site) -> Iterator[Registry]:
    """Its operator allows Git servers on this machine."""
    sources = {"LARDER_OUTGOING_ALLOW": "git=127.0.0.0/8", "LARDER_OUTGOING_CA_FILE": git_server.ca_file}
    folder = tmp_path_factory.mktemp("example")
    with registry_of_the_pages(folder, why="its name is that of the pages", **sources) as found:
        yield found


@pytest.fixture(params=CLIENTS)
def terraform(request: pytest.FixtureRequest, live: Live, tmp_path: Path) -> Callable[..., Workspace]:
    """Makes fresh workspaces of one real client."""
    made = iter(range(100))

    def workspace(host: str = "", larder: Live = live) -> Workspace:
        return Workspace(tmp_path / f"workspace-{next(made)}", request.param, larder, host)

    return workspace
