"""Versions of a module of another registry are published from their Git repository."""

import pytest

from apps.contrib.git.tests.conftest import Git, module, work_off
from apps.contrib.git.tests.registry.conftest import FULL, published
from apps.releases.models import Release, State
from tests.builders import faults
from tests.builders.catalogue import Module
from tests.builders.git_servers import Repository, Site
from tests.builders.misbehaving import HOST, Registry


@pytest.mark.slow
def test_its_versions_become_releases_with_their_origin(
    mirrored: Git, code: Repository, site: Site, registry: Registry, listed: Module
):
    assert mirrored.sync() == {"1.0.0": "published", "1.1.0": "published"}

    release = Release.objects.get(name="vpc/aws", version="1.1.0")
    assert release.state == State.PUBLISHED
    assert release.created_by == mirrored.repository.user
    facts = release.origin.facts
    assert facts["registry"] == f"{HOST}/Acme/vpc/aws 1.1.0"
    assert facts["repository"] == f"{site.url.removeprefix('https://')}/acme/terraform-aws-vpc"
    assert (facts["commit"], facts["ref"]) == (code.head, "refs/tags/v1.1.0")
    assert published() == {"1.0.0": code.run("rev-parse", "v1.0.0^{commit}"), "1.1.0": code.head}
    assert mirrored.tag("1.1.0").commit == code.head
    assert registry.count(listed.list_path) == 1
    assert [registry.count(listed.download_path(version)) for version in listed.versions] == [1, 1]
    assert not registry.count("/v1/providers/*")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_commit_is_as_good_as_a_tag_in_both_forms_of_the_answer(
    as_json: bool, mirrored: Git, listed: Module, code: Repository, site: Site
):
    listed.as_json = as_json
    commit = code.run("rev-parse", "v1.0.0^{commit}")
    listed.versions = ["1.0.0"]
    listed.locations["1.0.0"] = f"git::{site.url_of('acme/terraform-aws-vpc')}?ref={commit}&depth=1"

    assert mirrored.sync() == {"1.0.0": "published"}
    assert published() == {"1.0.0": commit}
    assert "ref" not in Release.objects.get(version="1.0.0").origin.facts


def test_a_folder_of_the_repository_is_the_module(mirrored: Git, listed: Module, code: Repository, site: Site):
    code.commit({"main.tf": "", "modules/vpc/main.tf": module()["main.tf"], "modules/vpc/README.md": "# Part\n"})
    code.tag("v2.0.0")
    listed.versions = ["2.0.0"]
    listed.locations["2.0.0"] = f"git::{site.url_of('acme/terraform-aws-vpc')}//modules/vpc?ref=v2.0.0"

    assert mirrored.sync() == {"2.0.0": "published"}
    assert Release.objects.get(version="2.0.0").folder == "modules/vpc"


def test_a_registry_that_lists_nothing_is_told_and_what_it_lists_in_other_numbers_is_left_out(
    mirrored: Git, registry: Registry, listed: Module
):
    registry.misbehave(listed.list_path, faults.wrong_shape({"modules": [{"versions": []}]}))
    mirrored.sync()
    assert mirrored.repository.failure_code == "no_versions"
    assert FULL in mirrored.repository.failure
    assert work_off() == 0

    registry.behave()
    listed.versions = ["1.0.0", "v1.1.0", "latest", "1.0.0"]
    assert mirrored.sync() == {"1.0.0": "published"}
