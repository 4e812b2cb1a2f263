"""Several folders of one archive become one version, each at its own path: the API, worker in process."""

import zipfile
from io import BytesIO

import pytest

from apps.blobs import store
from apps.jobs.models import Job
from apps.modules import reinspection
from apps.modules.models import ModuleVersion
from apps.modules.tasks import inspect_module
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.builders.tars import Item, gz, module_tar, tar
from tests.flows.conftest import PATH
from tests.rows import for_each_row

PAGE = "/modules/acme/vpc/aws/1.2.0"
VPC = 'variable "cidr" {\n  type = string\n}\n\nmodule "dns" {\n  source = "../dns"\n  zone   = var.cidr\n}\n'
DNS = 'variable "zone" {\n  type = string\n}\n'
FILES = {
    "README.md": "# All\n",
    "stacks/vpc/main.tf": VPC,
    "stacks/vpc/README.md": "# A network\n",
    "stacks/vpc/templates/init.sh": "#!/bin/sh\n",
    "stacks/dns/main.tf": DNS,
    "stacks/dns-extra/main.tf": 'output "none" {\n  value = 1\n}\n',
    "modules/log/main.tf": DNS,
    "terraform.tfstate": "{}",
}
BOTH = "?folder=stacks/vpc&folder=stacks/dns"
CHOSEN = [name for name in FILES if name.startswith(("stacks/vpc/", "stacks/dns/"))]


@pytest.fixture
def put(sent):
    def send(query: str, data: bytes = b"", version: str = "1.2.0"):
        return sent(data or gz(module_tar(FILES, top="repo-1/")), query, version)

    return send


def stored(release: Release) -> list[str]:
    with store.open_blob(release.digest) as file, zipfile.ZipFile(file) as archive:
        return sorted(archive.namelist())


def test_the_archive_has_exactly_these_folders_at_their_paths(put, tofu, alice):
    assert put(BOTH).status_code == 202

    release = Release.objects.get()
    assert (release.state, release.reasons, release.questions) == ("published", [], [])
    assert stored(release) == sorted(CHOSEN)
    link = tofu(alice).get("/v1/modules/acme/vpc/aws/1.2.0/download").headers["X-Terraform-Get"]
    with zipfile.ZipFile(BytesIO(b"".join(tofu().get(link)))) as archive:
        assert sorted(archive.namelist()) == sorted(CHOSEN)
        assert archive.read("stacks/vpc/main.tf").decode() == VPC, "its relative source leads to the other folder"
    files = release.module_version.files
    assert [file["name"] for file in files] == sorted(CHOSEN)
    assert release.notes["left_out_count"] == 0, "the state beside the folders is nobody's question"

    put("?folder=repo-1/stacks/vpc&folder=repo-1/stacks/dns", version="1.3.0")
    from_root = Release.objects.get(version="1.3.0")
    assert stored(from_root) == sorted(f"repo-1/{name}" for name in CHOSEN), "they may be named from the root"
    assert from_root.notes["top_folder"] == ""


def test_each_is_shown_as_what_the_version_offers(put, client, alice, bearer):
    put(BOTH)
    client.force_login(alice)

    page = client.get(PAGE).text
    assert "data-no-root" in page
    for name in ("vpc", "dns"):
        assert f"/acme/vpc/aws//stacks/{name}&quot;" in page
        assert f'href="{PAGE}/folders/stacks/{name}"' in page
        inner = client.get(f"{PAGE}/folders/stacks/{name}")
        assert inner.status_code == 200
        assert f"{PAGE}/usage?folder=stacks%2F{name}" in inner.text
        assert client.get(f"{PAGE}/usage?folder=stacks/{name}").status_code == 200
    assert "dns-extra" not in page
    assert "A network" in client.get(f"{PAGE}/folders/stacks/vpc").text
    release = client.get(f"/releases/{Release.objects.get().public_id}").text
    assert "Only its folders" in release
    assert "belong to this release" in release
    details = client.get("/v1/modules/acme/vpc/aws/1.2.0", headers=bearer(alice)).json()
    assert [unit["path"] for unit in details["submodules"]] == ["stacks/dns", "stacks/vpc"]


@pytest.mark.both
@pytest.mark.parametrize("data", [None, module_zip({name: FILES[name] for name in CHOSEN})], ids=["tar", "zip of both"])
def test_the_same_folders_in_another_order_are_the_same_release(put, data):
    assert put(BOTH, data).status_code == 202
    again = put("?folder=/stacks/dns/&folder=./stacks/vpc", data)

    assert stored(Release.objects.get()) == sorted(CHOSEN)
    assert again.status_code == 200
    assert again.json()["folder"] == "stacks/dns\nstacks/vpc"
    assert Release.objects.count() == 1


def test_a_resumable_upload_takes_several_folders(alice, bearer, client):
    headers = bearer(alice) | {"Tus-Resumable": "1.0.0", "Upload-Length": "9"}
    assert client.post(f"{PATH}/uploads{BOTH}", headers=headers).status_code == 201
    assert Release.objects.get().folder == "stacks/dns\nstacks/vpc"


@for_each_row("query", ["?folder=stacks/vpc", "?folder=stacks/vpc&folder=stacks/dns-extra", "?folder=*"])
def test_other_folders_of_the_same_archive_are_a_conflict(put, query):
    put(BOTH)
    refused = put(query)

    assert refused.status_code == 409
    assert "was published from stacks/dns, stacks/vpc of this archive" in refused.text
    assert Release.objects.count() == 1


@for_each_row(
    ("query", "words"),
    [
        ("?folder=a&folder=a/", "'a' twice, expected each folder once"),
        ("?folder=a/b&folder=a//b", "'a/b' twice"),
        ("?folder=a/c&folder=a-b&folder=a", "'a/c' inside of 'a'"),
        ("?folder=a&folder=", "the root among 2 folders"),
        ("?folder=.&folder=a", "the root among 2 folders"),
        ("?folder=*&folder=a", "* among 2 folders"),
        ("?folder=a&folder=../b", "'../b', expected a path inside the archive"),
        ("?folder=a%0Ab", "expected a path inside the archive"),
        ("?" + "&".join(f"folder=modules/number-{at:03}" for at in range(300)), "300 folders with 5699 characters"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_the_body(put, query, words):
    refused = put(query)

    assert refused.status_code == 422
    assert words in refused.text
    assert refused.json()["error"]["hint"]
    assert Release.objects.count() == 0


@for_each_row(
    ("query", "code", "words"),
    [
        ("?folder=stacks/vpc&folder=stacks/none", "no_such_folder", "no folder stacks/none"),
        ("?folder=stacks/vpc/templates&folder=stacks/dns", "no_module_file", "there are: init.sh"),
        ("?folder=stacks/vpc&folder=modules/log", "unloadable", "(there is no stacks/dns)"),
    ],
)
def test_each_has_to_be_there_and_to_contain_a_module_that_calls_no_other_folder(put, query, code, words):
    put(query)

    release = Release.objects.get()
    assert release.state == "rejected"
    [reason] = release.reasons
    assert reason["code"] == code
    assert words in reason["found"]
    assert "stacks/dns" in str(reason)


def test_a_version_without_one_of_them_is_a_breaking_change(put, alice, bearer, client):
    put(BOTH)
    dry = put("?folder=stacks/dns&folder=modules/log&dry_run=1", version="1.3.0").json()

    assert {(change["name"], change["rule"]) for change in dry["changes"]} == {
        ("stacks/vpc", "submodule_removed"),
        ("modules/log", "submodule_added"),
    }


def test_a_re_inspection_still_knows_the_folders(put):
    put("?folder=stacks/dns&folder=modules/log")
    version = Release.objects.get().module_version
    kinds = [(unit["path"], unit["kind"]) for unit in version.inspection["units"]]
    assert kinds == [("modules/log", "submodule"), ("stacks/dns", "submodule")]

    ModuleVersion.objects.update(inspection={})
    reinspection.request(ModuleVersion.objects.all(), actor_id=None)
    inspect_module(job_id=Job.objects.get(kind=reinspection.JOB).pk)

    version.refresh_from_db()
    assert [(unit["path"], unit["kind"]) for unit in version.inspection["units"]] == kinds


def test_a_folder_that_is_a_link_is_published_at_its_own_path(put):
    items = [Item("real/main.tf", DNS.encode()), Item("b/main.tf", DNS.encode()), Item("c/main.tf", DNS.encode())]
    items += [Item("a", kind=b"2", link=b"real"), Item("b/inner", kind=b"2", link=b"../c")]
    items += [Item("broken", kind=b"2", link=b"nowhere")]
    put("?folder=a&folder=b", gz(tar(items)))

    release = Release.objects.get()
    assert (release.state, release.reasons) == ("published", [])
    assert stored(release) == ["a/main.tf", "b/inner/main.tf", "b/main.tf"]
    assert sorted(release.notes["links"]) == ["a", "b/inner"]
