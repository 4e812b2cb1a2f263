"""OpenTofu with `oci://` modules and with `oci_mirror`: by its recorded requests everywhere, by itself where it is."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.e2e.conftest import archive
from tests.e2e.oci.clients import Pusher, Tofu, digest_of
from tests.e2e.providers import configure, lock_of, require, said_by
from tests.e2e.workspace import Workspace, access_lines, said
from tests.needs import needs

pytestmark = pytest.mark.live

# The host of the public URL is what LARDER_HOSTNAMES has where nobody sets it.
MIRROR = "providers/127.0.0.1"


@pytest.fixture
@needs("tofu")
def tofu(live, tmp_path):
    made = iter(range(10))
    return lambda: Workspace(tmp_path / f"tofu-{next(made)}", "tofu", live)


def sign_in(workspace: Workspace, token: str) -> None:
    """Sign in, in the form that `docker login` leaves behind."""
    folder = workspace.folder / "home" / ".docker"
    folder.mkdir()
    auth = httpx.BasicAuth("anything", token)._auth_header.removeprefix("Basic ")
    (folder / "config.json").write_text(json.dumps({"auths": {workspace.host: {"auth": auth}}}))


def source(workspace: Workspace, text: str) -> None:
    (workspace.work / "main.tf").write_text(f'module "vpc" {{\n  source = "oci://{workspace.host}/{text}"\n}}\n')


def installed(workspace: Workspace) -> str:
    manifest = json.loads((workspace.work / ".terraform/modules/modules.json").read_text())
    (entry,) = [one for one in manifest["Modules"] if one["Key"] == "vpc"]
    return (workspace.work / entry["Dir"] / "main.tf").read_text()


# --- By recorded requests --------------------------------------------------------------------------------------------


def test_a_public_module_by_tag_by_digest_and_by_none(live, shelf):
    client, name = Tofu(live), "open/vpc/aws"
    with live.client() as anybody:
        token = anybody.get(f"/v2/token?scope=repository:{name}:pull").json()["token"]
        head = anybody.head(f"/v2/{name}/manifests/1.1.0", headers={"Authorization": f"Bearer {token}"})

    assert client.module(name, tag="1.1.0") == archive("1.1.0", name)
    assert client.module(name, digest=head.headers["Docker-Content-Digest"]) == archive("1.1.0", name)
    assert client.module(name) == archive("1.2.0", name)
    assert client.asked[:3] == ["GET /v2/ 401", "GET token 200", "GET /v2/ 200"]
    # The token of the ping was asked for without a scope.
    head = f"HEAD /v2/{name}/manifests/1.1.0"
    assert client.asked[3:6] == [f"{head} 401", "GET token 200", f"{head} 200"]


def test_a_provider_from_the_mirror(live, depot):
    for address, password in (("yard/dns", ""), ("shed/names", depot.read)):
        client = Tofu(live, password)
        zipped = client.provider(f"{MIRROR}/{address}")
        with live.client(depot.read) as reader:
            document = reader.get(f"/v1/providers/{address}/1.1.0/download/linux/amd64").json()
        assert digest_of(zipped) == f"sha256:{document['shasum']}"


def test_case_19_two_jobs_push_a_version_at_once(live, shelf):
    name, pusher = "open/raced/aws", Pusher(live, shelf.manage)
    zips = [archive("1.0.0", f"job {number}") for number in range(2)]

    with ThreadPoolExecutor(2) as jobs:
        answers = list(jobs.map(lambda zipped: pusher.push(name, "1.0.0", zipped), zips))

    assert sorted(answer.status_code for answer in answers) == [201, 409], [one.text for one in answers]
    winner = zips[[answer.status_code for answer in answers].index(201)]
    assert Tofu(live).module(name, tag="1.0.0") == winner
    with live.client(shelf.read) as reader:
        document = reader.get(f"/api/v1/modules/{name}/1.0.0").json()
    assert digest_of(winner).endswith(document["digest"])
    assert pusher.push(name, "1.0.0", winner).status_code == 201


# --- By the real client -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["tag", "digest", "none"])
@pytest.mark.smoke
def test_tofu_installs_a_public_module(live, shelf, tofu, way):
    workspace, name = tofu(), "open/vpc/aws"
    with live.client(shelf.read) as reader:
        digest = reader.head(f"/v2/{name}/manifests/1.1.0").headers["Docker-Content-Digest"]
    source(workspace, name + {"tag": "?tag=1.1.0", "digest": f"?digest={digest}", "none": ""}[way])

    done = workspace.init()

    assert done.returncode == 0, said_by(done)
    assert ("1.2.0" if way == "none" else "1.1.0") in installed(workspace)


def test_tofu_installs_a_folder_of_a_private_module(live, shelf, tofu):
    workspace = tofu()
    sign_in(workspace, shelf.read)
    source(workspace, "acme/vpc/aws//modules/x?tag=1.2.0")
    mark = said(live)

    done = workspace.init()

    assert done.returncode == 0, said_by(done)
    assert "submodule" in installed(workspace)
    paths = [line["path"] for line in access_lines(live, mark)]
    assert len([path for path in paths if path.startswith("/v2/acme/vpc/aws/")]) <= 4


def mirrored(workspace: Workspace, more: str = "") -> None:
    variables = "${hostname}/${namespace}/${type}"
    mirror = f'  oci_mirror {{\n    repository_template = "{workspace.host}/providers/{variables}"\n'
    include = '    include             = ["127.0.0.1/*/*"]\n  }\n'
    configure(workspace, f"provider_installation {{\n{mirror}{include}{more}}}\n")


@pytest.mark.parametrize("address", ["yard/dns", "shed/names"])
@pytest.mark.smoke
def test_tofu_installs_a_provider_from_the_mirror(live, depot, tofu, address):
    workspace = tofu()
    mirrored(workspace)
    if address.startswith("shed/"):
        sign_in(workspace, depot.read)
    require(workspace, address, host="127.0.0.1")

    done = workspace.init()

    assert done.returncode == 0, said_by(done)
    assert f"Installed 127.0.0.1/{address} v1.1.0" in done.stdout
    with live.client(depot.read) as reader:
        document = reader.get(f"/v1/providers/{address}/1.1.0/download/linux/amd64").json()
    assert lock_of(workspace)["zh"] == {document["shasum"]}


def test_tofu_goes_on_to_direct_for_what_the_mirror_does_not_include(live, depot, tofu):
    workspace = tofu()
    mirrored(workspace, '  direct {\n    exclude = ["127.0.0.1/*/*"]\n  }\n')
    require(workspace, "yard/dns")

    done = workspace.init()

    assert done.returncode == 0, said_by(done)
    assert "signed, key ID" in done.stdout
