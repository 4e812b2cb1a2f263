"""Tarballs, the folder on top, one folder of a larger archive, what stays out by rule: the API, worker in process."""

import hashlib
import zipfile

import pytest

from apps.blobs import store
from apps.releases.models import Release
from tests.builders.archives import MODULE, PRIVATE_KEY, module_zip
from tests.builders.tars import gz, module_tar, xz
from tests.rows import for_each_row


def under(folder: str, files: dict[str, str] | None = None) -> dict[str, str | bytes]:
    return {f"{folder}/{name}": text for name, text in (files or MODULE).items()}


def stored(version: str = "1.2.0") -> list[str]:
    release = Release.objects.published().get(version=version)
    with store.open_blob(release.digest) as file, zipfile.ZipFile(file) as archive:
        return sorted(archive.namelist())


@pytest.mark.parametrize(("pack", "form"), [(gz, "tar.gz"), (xz, "tar.xz")], ids=["gz", "xz"])
def test_a_tarball_is_repacked_and_both_digests_are_kept(sent, pack, form, stored_files):
    data = pack(module_tar(MODULE, top="terraform-aws-vpc-1.2.0/"))
    assert sent(data).status_code == 202

    release = Release.objects.get()
    assert (release.state, release.reasons) == ("published", [])
    assert release.uploaded_digest == hashlib.sha256(data).hexdigest() != release.digest
    assert stored() == sorted(MODULE)
    assert release.notes["form"] == form
    assert release.notes["top_folder"] == "terraform-aws-vpc-1.2.0"
    assert release.notes["repacked"] is True
    version = release.module_version
    assert {file["name"]: file["size"] for file in version.files} == {name: len(MODULE[name]) for name in MODULE}
    assert all(file["at"] > 0 for file in version.files), "it can be read file by file"
    assert "A small module" in version.readme_html
    assert sent(data).status_code == 200
    assert sent(pack(module_tar(MODULE, top="other/"))).status_code == 409
    assert [key for key in stored_files() if key.startswith("staging/")] == []


def test_a_plain_zip_is_stored_as_it_came_and_the_folder_on_top_of_another_is_stripped(sent):
    data = module_zip()
    sent(data)
    release = Release.objects.get()
    assert release.digest == release.uploaded_digest == hashlib.sha256(data).hexdigest()
    assert release.notes["repacked"] is False

    sent(module_zip(under("vpc-main")), version="1.3.0")
    assert stored("1.3.0") == sorted(MODULE)


def test_git_terraform_and_state_stay_out_and_are_named(sent):
    extra = {".git/HEAD": "ref", "sub/.terraform/plugins/x": "y", ".DS_Store": "z", ".terraform.lock.hcl": "# lock\n"}
    sent(module_zip({**MODULE, **extra}))
    release = Release.objects.get()
    assert stored() == sorted([*MODULE, ".terraform.lock.hcl"])
    assert sorted(release.notes["left_out"]) == [".DS_Store", ".git/HEAD", "sub/.terraform/plugins/x"]
    assert release.notes["left_out_count"] == 3


MONOREPO = under("stacks/vpc") | under("stacks/dns") | {"README.md": "# all\n"}


def test_one_folder_of_a_monorepo_is_published(sent):
    data = gz(module_tar(MONOREPO, top="repo-1/"))
    assert sent(data, "?folder=stacks/vpc").status_code == 202
    assert stored() == sorted(MODULE)
    assert Release.objects.get().folder == "stacks/vpc"
    assert sent(data, "?folder=stacks/vpc").status_code == 200
    refused = sent(data, "?folder=stacks/dns")
    assert refused.status_code == 409
    assert "stacks/dns" in refused.text


@for_each_row(("folder", "code"), [("stacks/none", "no_such_folder"), ("", "no_module_file")])
def test_without_a_module_the_refusal_names_the_folders_that_hold_one(sent, folder, code):
    sent(module_zip(MONOREPO), f"?folder={folder}")
    release = Release.objects.get()
    assert release.state == "rejected"
    assert release.reasons[0]["code"] == code
    assert "stacks/dns, stacks/vpc" in str(release.reasons)
    assert release.notes["folders"] == ["stacks/dns", "stacks/vpc"] or code == "no_such_folder"


@for_each_row("name", [".main.tf", ".tofu", ".hidden.tf.json"])
@for_each_row(("at", "query"), [("", ""), ("stacks/vpc/", "?folder=stacks/vpc")])
def test_a_file_that_clients_skip_makes_no_module(sent, name, at, query):
    sent(module_zip({f"{at}{name}": MODULE["main.tf"], f"{at}README.md": "# VPC\n", "LICENSE": "MIT"}), query)
    release = Release.objects.get()
    assert release.state == "rejected"
    assert release.reasons[0]["code"] == "no_module_file"
    assert name in release.reasons[0]["found"]


@for_each_row(
    ("query", "words"),
    [
        ("folder=../x", ""),
        ("folder=a/../../b", ""),
        ("folder=%00", ""),
        (f"folder={'x' * 301}", ""),
        ("confirm=state-files", "private_key, state_file, unloadable"),
    ],
)
def test_a_folder_or_a_confirmation_that_cannot_be_is_refused_before_the_body(sent, query, words):
    refused = sent(b"", f"?{query}")
    assert refused.status_code in (400, 422)
    assert words in refused.text
    assert Release.objects.count() == 0


@pytest.mark.parametrize(
    ("name", "code", "stays"), [("terraform.tfstate", "state_file", False), ("tests/id_rsa", "private_key", True)]
)
def test_a_script_confirms_what_a_person_is_asked(sent, name, code, stays):
    data = module_zip({**MODULE, name: PRIVATE_KEY})
    sent(data)
    release = Release.objects.get()
    assert release.state == "rejected"
    assert release.reasons[0]["code"] == code
    assert f"?confirm={code}" in release.reasons[0]["hint"]

    sent(data, f"?confirm={code}")
    assert Release.objects.published().get().version == "1.2.0"
    assert (name in stored()) is stays
