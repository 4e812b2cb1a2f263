"""A module without configuration at its root: it is published, and used by its submodules."""

import zipfile

import pytest

from apps.blobs import store
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.builders.tars import gz, module_tar
from tests.flows.conftest import PATH
from tests.rows import for_each_row

USER = 'variable "name" {\n  type = string\n}\n\noutput "name" {\n  value = var.name\n}\n'
IAM = {
    "README.md": "# Identity\n\nSubmodules for users and roles.\n",
    "modules/iam-user/main.tf": USER,
    "modules/iam-role/main.tf": 'module "user" {\n  source = "../iam-user"\n  name   = "x"\n}\n',
    "examples/iam-user/main.tf": 'module "user" {\n  source = "../../modules/iam-user"\n  name   = "x"\n}\n',
}
PAGE = "/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def put(sent):
    def send(files, query: str = "") -> Release:
        sent(gz(module_tar(files, top="terraform-aws-iam-1/")), query)
        return Release.objects.latest("pk")

    return send


def test_it_is_published_with_all_of_its_folders(put):
    release = put(IAM)

    assert (release.state, release.reasons) == ("published", [])
    assert release.notes["no_root"] is True
    with store.open_blob(release.digest) as file, zipfile.ZipFile(file) as archive:
        assert sorted(archive.namelist()) == sorted(IAM)
    units = release.module_version.inspection["units"]
    assert [(unit["kind"], unit["path"]) for unit in units] == [
        ("submodule", "modules/iam-role"),
        ("submodule", "modules/iam-user"),
        ("example", "examples/iam-user"),
    ]


def test_its_pages_say_so_and_show_the_block_of_each_submodule(put, client, alice, bearer):
    release = put(IAM)
    client.force_login(alice)
    page = client.get(PAGE).text

    assert "data-no-root" in page
    for name in ("iam-user", "iam-role"):
        assert f"/acme/vpc/aws//modules/{name}&quot;" in page
    assert "/acme/vpc/aws&quot;" not in page
    assert f"{PAGE}/inputs" not in page
    assert f"{PAGE}/submodules" in page
    assert "data-no-root" not in client.get(f"{PAGE}/submodules/iam-user").text
    assert "/acme/vpc/aws//modules/iam-role" in client.get(f"/releases/{release.public_id}").text
    assert "/acme/vpc/aws//modules/iam-role" in client.get("/how-to-use").text
    for tab in ("inputs", "outputs", "resources", "dependencies"):
        answer = client.get(f"{PAGE}/{tab}")
        assert answer.status_code == 200
        assert "No root module" in answer.text
        assert f'{PAGE}/submodules">Show its submodules' in answer.text

    document = client.get("/v1/modules/acme/vpc/aws/1.2.0", headers=bearer(alice)).json()
    assert document["root"] | {"readme": ""} == {
        "path": "", "name": "vpc", "readme": "", "empty": True, "inputs": [], "outputs": [], "dependencies": [],
        "provider_dependencies": [], "resources": [],
    }  # fmt: skip
    assert "Identity" in document["root"]["readme"]
    assert [unit["path"] for unit in document["submodules"]] == ["modules/iam-role", "modules/iam-user"]
    assert document["submodules"][1]["inputs"][0]["name"] == "name"


@for_each_row("query", ["", "?folder=."])
def test_the_submodules_alone_are_enough(sent, query):
    sent(module_zip({"modules/one/main.tf": "", "modules/two/deep/main.tf": ""}), query)

    release = Release.objects.published().get()
    assert release.digest == release.uploaded_digest
    assert release.notes["top_folder"] == ""


def test_a_folder_called_modules_may_still_be_the_module(put):
    release = put({"modules/main.tf": USER, "modules/one/main.tf": ""}, "?folder=modules")

    assert "no_root" not in release.notes
    assert [unit["path"] for unit in release.module_version.inspection["units"]] == ["", "one"]


@for_each_row(
    ("files", "query"),
    [
        ({"README.md": "# x\n", "examples/one/main.tf": ""}, ""),
        ({"README.md": "# x\n", "modules/README.md": "", "stacks/one/main.tf": ""}, ""),
        ({"README.md": "# x\n", "modules/one/.hidden.tf": "", "modules/main.tf": ""}, ""),
        ({"README.md": "# x\n", "Modules/one/main.tf": "", "modules.tf/x": ""}, ""),
        ({"README.md": "# x\n"}, "?folder=*"),
    ],
    ids=["examples", "other folders", "what clients skip", "another letter case", "no configuration at all"],
)
def test_without_submodules_it_is_refused_as_before(put, files, query):
    [reason] = put(files, query).reasons
    assert reason["code"] == "no_module_file"


def test_a_script_publishes_all_folders_of_any_archive_with_a_star(put, client, alice, bearer):
    files = {"README.md": "# x\n", "stacks/one/main.tf": USER, "stacks/two/main.tf": USER}
    assert "?folder=*" in put(files).reasons[0]["hint"]
    data = gz(module_tar(files, top="terraform-aws-iam-1/"))
    url = f"{PATH}?folder=*&dry_run=1"
    dry = client.put(url, data, content_type="application/octet-stream", headers=bearer(alice)).json()
    assert dry["state"] == "would_publish"

    release = put(files, "?folder=*")
    assert (release.state, release.folder, release.notes["no_root"]) == ("published", "", True)
    units = release.module_version.inspection["units"]
    assert [(unit["kind"], unit["path"]) for unit in units] == [
        ("submodule", "stacks/one"),
        ("submodule", "stacks/two"),
    ]
    client.force_login(alice)
    assert "/acme/vpc/aws//stacks/one" in client.get(f"/releases/{release.public_id}").text
    page = client.get(PAGE).text
    assert "data-no-root" in page
    assert "/acme/vpc/aws//stacks/two&quot;" in page
    assert client.get(f"{PAGE}/folders/stacks/two").status_code == 200

    again = client.put(f"{PATH}?folder=*", data, content_type="application/octet-stream", headers=bearer(alice))
    assert again.status_code == 200
