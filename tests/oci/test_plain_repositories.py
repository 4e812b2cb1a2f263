"""Repositories that are no module: any other name below a namespace, or the namespace's own name."""

import pytest

from apps.artifacts.models import Repository
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.oci.manifests.documents import code_of, digest_of, image, package
from tests.rows import for_each_row

LAYER = b"anything at all"
RAW = image(LAYER)
NAMES = ["pantry", "pantry/one", "pantry/a/b/c/d", "pantry/tools/my-image", "pantry/a__b/c", "pantry/v1.2/x"]


@pytest.mark.slow
@pytest.mark.both
@for_each_row("name", NAMES)
def test_it_is_pushed_pulled_and_deleted_and_a_tag_that_is_a_version_moves_like_any_other(repo, tofu, name):
    mine, anybody, other = repo(name), tofu(), image(b"other")

    mine.push(RAW, "latest", LAYER)
    assert mine.put(RAW, "1.2.0").status_code == 201

    assert anybody.get(mine.url("latest")).content == RAW
    assert anybody.get(f"/v2/{name}/blobs/{digest_of(LAYER)}").getvalue() == LAYER
    assert anybody.get(f"/v2/{name}/tags/list").json() == {"name": name, "tags": ["1.2.0", "latest"]}
    assert mine.client.get("/v2/_catalog").json() == {"repositories": [name]}
    mine.push(other, "1.2.0", b"other")
    assert mine.get("1.2.0").content == other
    assert mine.delete("1.2.0").status_code == 202, "no release: its tag may go"
    assert mine.delete(digest_of(RAW)).status_code == 202
    assert anybody.get(f"/v2/{name}/tags/list").json()["tags"] == []
    assert not Release.objects.exists()


def test_rights_are_those_of_the_namespace(repo, alice, bob, charlie, tofu):
    repo("acme").push(RAW, "latest", LAYER)
    upload = "/v2/acme/blobs/uploads/"

    assert repo("acme", bob).get("latest").status_code == 200
    assert code_of(tofu(bob).post(upload)) == (403, "DENIED")
    for answer in (repo("acme", charlie).get("latest"), tofu(charlie).post(upload)):
        assert code_of(answer) == (404, "NAME_UNKNOWN")
    anybody = tofu().get("/v2/acme/manifests/latest")
    assert anybody.status_code == 401
    assert 'scope="repository:acme:pull"' in anybody.headers["WWW-Authenticate"]


def test_a_name_whose_namespace_is_not_there_says_what_its_first_part_is(repo):
    answer = repo("nowhere").client.post("/v2/nowhere/blobs/uploads/")

    assert code_of(answer) == (404, "NAME_UNKNOWN")
    assert "The first part of its name must be a namespace" in answer.json()["errors"][0]["message"]


@for_each_row("name", ["acme/blobs", "acme/tools/uploads/x"])
def test_the_path_words_of_the_protocol_name_nothing(repo, name):
    answer = repo(name).client.post(f"/v2/{name}/blobs/uploads/")

    assert code_of(answer) == (400, "NAME_INVALID")
    assert "reserved: OCI clients read it" in answer.json()["errors"][0]["message"]
    assert not Repository.objects.exists()


def test_a_module_package_is_stored_and_its_pusher_is_told_that_it_is_no_module(repo, work):
    archive = module_zip()
    mine, raw = repo("pantry/vpc"), package(archive)
    for data in (b"{}", archive):
        mine.blob(data)

    answers = [mine.put(raw, tag) for tag in ("1.2.0", "latest")]
    work()

    for answer in answers:
        assert answer.status_code == 201
        assert "A module's repository is namespace/name/system" in answer.headers["Warning"]
    assert not Release.objects.exists()


@for_each_row("name", ["pantry", "pantry/a/b"])
def test_operators_find_it_in_the_admin(repo, browser_of, olga, name):
    repo(name).push(RAW, "latest", LAYER)
    client, row = browser_of(olga), Repository.objects.get()

    assert f">{name}</a>" in client.get("/admin/oci/repository/", {"q": name}).content.decode()
    assert client.get(f"/admin/oci/repository/{row.pk}/change/").status_code == 200
    assert "latest" in client.get("/admin/oci/tag/", {"q": name}).content.decode()
