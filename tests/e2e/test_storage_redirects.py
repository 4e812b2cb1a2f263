"""Real clients follow Larder's links to object storage, and storage never gets a token."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import s3
from tests.builders.keys import signing_key
from tests.e2e.conftest import archive
from tests.e2e.oci.programs import Program, bytes_of, layout
from tests.e2e.providers import Depot, require
from tests.e2e.workspace import Workspace, access_lines, said
from tests.live import Live, start_live
from tests.needs import CLIENTS

pytestmark = pytest.mark.live


@dataclass(frozen=True)
class Linked:
    """A Larder whose archives and blobs leave from an S3 server; `log` has the server's requests."""

    live: Live
    log: Path
    token: str

    def asked_of_storage(self, since: int) -> list[dict[str, str]]:
        """Return the requests of clients to storage: Larder itself signs by a header, links by a query."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()[since:]]
        return [line for line in lines if "boto" not in line["agent"].lower()]

    def mark(self) -> int:
        return len(self.log.read_text().splitlines())


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Linked]:
    folder = tmp_path_factory.mktemp("linked")
    log = folder / "s3.log"
    # Another name than Larder's: Go sends a token on to the same host, whatever the port.
    with s3.server("--log", str(log)) as port:
        endpoint = f"http://localhost:{port}"
        s3.make_bucket(endpoint, "larder")
        variables = {
            **s3.KEYS,
            "LARDER_STORAGE_URL": f"s3://larder/live?endpoint={endpoint}&region=us-east-1",
            "LARDER_STORAGE_REDIRECT_SECONDS": "60",
        }
        with start_live(folder / "larder", why="its storage sends archives", **variables) as live:
            token = live.token()
            with live.client(token) as api:
                for name, visibility in {"acme": "private", "open": "public"}.items():
                    api.put(f"/api/v1/namespaces/{name}", json={"visibility": visibility}).raise_for_status()
            for address in ("acme/vpc/aws", "open/vpc/aws"):
                assert live.publish(address, "1.0.0", archive("1.0.0", address), token)["state"] == "published"
            depot = Depot(live, token, token, signing_key("ed25519"))
            depot.namespace("shed", "private")
            depot.publish("shed/dns", "1.0.0")
            yield Linked(live, log, token)


@pytest.fixture(params=CLIENTS)
def terraform(request: pytest.FixtureRequest, linked: Linked, tmp_path: Path) -> Callable[[], Workspace]:
    return lambda: Workspace(tmp_path / "workspace", request.param, linked.live)


def test_modules_come_from_storage_without_the_token(linked: Linked, terraform):
    workspace = terraform()
    workspace.credentials(linked.token)
    workspace.netrc(linked.token)  # go-getter sends it with the archive's URL, and must not send it on
    for namespace in ("acme", "open"):
        workspace.module(namespace, f"{namespace}/vpc/aws", "1.0.0")
    before, mark = linked.mark(), said(linked.live)

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    assert workspace.installed() == {"acme": "1.0.0", "open": "1.0.0"}
    sent = [line["status"] for line in access_lines(linked.live, mark) if "/archives/" in line["path"]]
    assert sorted(set(sent)) == [200, 307]  # a HEAD, and the bytes
    asked = linked.asked_of_storage(before)
    assert len(asked) >= 2
    assert {(line["method"], line["authorization"]) for line in asked} == {("GET", "")}


def test_providers_come_from_storage_without_the_token(linked: Linked, terraform):
    workspace = terraform()
    workspace.credentials(linked.token)
    require(workspace, "shed/dns")
    before = linked.mark()

    done = workspace.init()

    assert done.returncode == 0, done.stderr
    asked = linked.asked_of_storage(before)
    assert len(asked) == 3, "package, sums and signature"
    assert {(line["method"], line["authorization"]) for line in asked} == {("GET", "")}


@pytest.mark.needs("skopeo")
def test_oci_blobs_come_from_storage_without_the_token(linked: Linked, tmp_path: Path):
    skopeo = Program("skopeo", tmp_path, linked.live)
    image = layout(tmp_path / "layout", "acme/image")
    address = f"docker://{linked.live.host}/acme/image:made"
    skopeo.done("login", "--username", "ci", "--password-stdin", linked.live.host, stdin=linked.token)
    skopeo.done("--insecure-policy", "copy", "oci:layout:made", address)
    before, mark = linked.mark(), said(linked.live)

    skopeo.done("--insecure-policy", "copy", address, "oci:out:made")

    for layer in image.fields["layers"]:
        assert bytes_of(tmp_path / "out", layer["digest"]) == bytes_of(tmp_path / "layout", layer["digest"])
    blobs = [line["status"] for line in access_lines(linked.live, mark) if "/blobs/" in line["path"]]
    assert set(blobs) == {307}
    asked = linked.asked_of_storage(before)
    assert len(asked) == len(blobs)
    assert {(line["method"], line["authorization"]) for line in asked} == {("GET", "")}
