"""Tarballs, the folder on top, one folder of a larger archive, what stays out by rule: the API, worker in process."""

import hashlib
import zipfile

import pytest

from apps.blobs import store
from apps.modules.models import ModuleVersion
from apps.releases.models import Release
from tests.builders.archives import MODULE, PRIVATE_KEY, module_zip
from tests.builders.tars import gz, module_tar, xz
from tests.rows import for_each_row

PATH = "/api/v1/modules/acme/vpc/aws/1.2.0"


def under(folder: str, files: dict[str, str] | None = None) -> dict[str, str | bytes]:
    return {f"{folder}/{name}": text for name, text in (files or MODULE).items()}


@pytest.fixture
def put(alice, bearer, client, work):
    def send(data: bytes, path: str = PATH):
        answer = client.put(path, data, content_type="application/octet-stream", headers=bearer(alice))
        work()
        return answer

    return send


def stored() -> list[str]:
    release = Release.objects.published().get()
    with store.open_blob(release.digest) as file, zipfile.ZipFile(file) as archive:
        return sorted(archive.namelist())


@pytest.mark.parametrize(("pack", "form"), [(gz, "tar.gz"), (xz, "tar.xz")], ids=["gz", "xz"])
def test_a_tarball_is_repacked_and_both_digests_are_kept(put, pack, form, stored_files):
    data = pack(module_tar(MODULE, top="terraform-aws-vpc-1.2.0/"))
    assert put(data).status_code == 202

    release = Release.objects.get()
    assert (release.state, release.reasons) == ("published", [])
    assert release.uploaded_digest == hashlib.sha256(data).hexdigest() != release.digest
    assert stored() == sorted(MODULE)
    assert release.notes["form"] == form
    assert release.notes["top_folder"] == "terraform-aws-vpc-1.2.0"
    assert release.notes["repacked"] is True
    assert put(data).status_code == 200
    assert put(pack(module_tar(MODULE, top="other/"))).status_code == 409
    assert [key for key in stored_files() if key.startswith("staging/")] == []


def test_a_plain_zip_is_stored_as_it_came(put):
    data = module_zip()
    put(data)
    release = Release.objects.get()
    assert release.digest == release.uploaded_digest == hashlib.sha256(data).hexdigest()
    assert release.notes["repacked"] is False


def test_the_folder_on_top_of_a_zip_is_stripped(put):
    put(module_zip(under("vpc-main")))
    assert stored() == sorted(MODULE)


def test_a_repacked_archive_can_be_read_file_by_file(put):
    put(gz(module_tar(MODULE, top="vpc/")))
    version = ModuleVersion.objects.get()
    assert {file["name"]: file["size"] for file in version.files} == {name: len(MODULE[name]) for name in MODULE}
    assert all(file["at"] > 0 for file in version.files)
    assert "A small module" in version.readme_html


def test_git_terraform_and_state_stay_out_and_are_named(put):
    extra = {".git/HEAD": "ref", "sub/.terraform/plugins/x": "y", ".DS_Store": "z", ".terraform.lock.hcl": "# lock\n"}
    put(module_zip({**MODULE, **extra}))
    release = Release.objects.get()
    assert stored() == sorted([*MODULE, ".terraform.lock.hcl"])
    assert sorted(release.notes["left_out"]) == [".DS_Store", ".git/HEAD", "sub/.terraform/plugins/x"]
    assert release.notes["left_out_count"] == 3


MONOREPO = under("stacks/vpc") | under("stacks/dns") | {"README.md": "# all\n"}


def test_one_folder_of_a_monorepo_is_published(put):
    data = gz(module_tar(MONOREPO, top="repo-1/"))
    assert put(data, f"{PATH}?folder=stacks/vpc").status_code == 202
    assert stored() == sorted(MODULE)
    assert Release.objects.get().folder == "stacks/vpc"
    assert put(data, f"{PATH}?folder=stacks/vpc").status_code == 200
    refused = put(data, f"{PATH}?folder=stacks/dns")
    assert refused.status_code == 409
    assert "stacks/dns" in refused.text


@for_each_row(("folder", "code"), [("stacks/none", "no_such_folder"), ("", "no_module_file")])
def test_without_a_module_the_refusal_names_the_folders_that_hold_one(put, folder, code):
    put(module_zip(MONOREPO), f"{PATH}?folder={folder}")
    release = Release.objects.get()
    assert release.state == "rejected"
    assert release.reasons[0]["code"] == code
    assert "stacks/dns, stacks/vpc" in str(release.reasons)
    assert release.notes["folders"] == ["stacks/dns", "stacks/vpc"] or code == "no_such_folder"


@for_each_row("name", [".main.tf", ".tofu", ".hidden.tf.json"])
@for_each_row(("at", "query"), [("", ""), ("stacks/vpc/", "?folder=stacks/vpc")])
def test_a_file_that_clients_skip_makes_no_module(put, name, at, query):
    put(module_zip({f"{at}{name}": MODULE["main.tf"], f"{at}README.md": "# VPC\n", "LICENSE": "MIT"}), f"{PATH}{query}")
    release = Release.objects.get()
    assert release.state == "rejected"
    assert release.reasons[0]["code"] == "no_module_file"
    assert name in release.reasons[0]["found"]


@for_each_row("folder", ["../x", "a/../../b", "%00", "x" * 301])
def test_a_folder_that_no_archive_can_have_is_refused_before_the_body(put, folder):
    assert put(b"", f"{PATH}?folder={folder}").status_code in (400, 422)
    assert Release.objects.count() == 0


@pytest.mark.parametrize(
    ("name", "code", "stays"), [("terraform.tfstate", "state_file", False), ("tests/id_rsa", "private_key", True)]
)
def test_a_script_confirms_what_a_person_is_asked(put, name, code, stays):
    data = module_zip({**MODULE, name: PRIVATE_KEY})
    put(data)
    release = Release.objects.get()
    assert release.state == "rejected"
    assert release.reasons[0]["code"] == code
    assert f"?confirm={code}" in release.reasons[0]["hint"]

    put(data, f"{PATH}?confirm={code}")
    assert Release.objects.published().get().version == "1.2.0"
    assert (name in stored()) is stays


def test_a_confirmation_that_nothing_asks_for_is_a_typing_error(put):
    refused = put(b"", f"{PATH}?confirm=state-files")
    assert refused.status_code in (400, 422)
    assert "private_key, state_file, unloadable" in refused.text
