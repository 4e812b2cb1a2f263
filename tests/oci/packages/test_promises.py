"""Every push that is answered 201 can be pulled by its tag and its digest."""

import hashlib

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.oci.manifests.documents import code_of, digest_of, package
from tests.oci.packages.samples import LATER, NAME, RAW, ZIP, purge, said
from tests.rows import for_each_row

OTHER = module_zip(comment=b"another one")


@pytest.fixture
def act(olga):
    def do(verb, version: str, **more):
        verb(viewer=Viewer(olga), address=ModuleAddress.parse(NAME), version=version, reason="It leaks.", **more)

    return do


def tags(one) -> list[str]:
    return one.tags().json()["tags"]


# --- Bytes in quarantine ----------------------------------------------------------------------------------------------


@pytest.mark.slow
@for_each_row(("raw", "tag"), [(RAW, "1.3.0"), (RAW, "latest"), (LATER, "1.3.0")])
def test_bytes_in_quarantine_become_no_other_release_here_or_elsewhere(push, pusher, pantry, act, raw, tag):
    assert push().status_code == 201
    act(lifecycle.quarantine, "1.2.0")

    answer, elsewhere = push(raw, tag), push(raw, tag, name="pantry/other/aws")

    assert code_of(answer) == code_of(elsewhere) == (400, "MANIFEST_INVALID"), said(answer)
    assert "quarantine" in said(answer)
    assert f"sha256:{hashlib.sha256(ZIP).hexdigest()}" in said(elsewhere)
    assert NAME not in said(elsewhere), "whose they are stays untold"
    assert tags(pusher(NAME)) == []
    assert not Release.objects.filter(state="published").exclude(version="1.2.0").exists()
    act(lifecycle.restore, "1.2.0")
    assert pusher(NAME).get("1.2.0").content == RAW


def test_a_tag_on_what_is_in_quarantine_is_listed_no_more(push, pusher, act):
    assert push().status_code == push(package(OTHER), "1.1.0", OTHER).status_code == 201
    one = pusher(NAME)
    assert one.put(RAW, "main").status_code == one.put(package(OTHER), "old").status_code == 201
    assert tags(one) == ["1.1.0", "1.2.0", "latest", "main", "old"]

    act(lifecycle.quarantine, "1.2.0")

    assert tags(one) == ["1.1.0", "latest", "old"]
    assert {tag: one.get(tag).status_code for tag in tags(one)} == {"1.1.0": 200, "latest": 200, "old": 200}
    act(lifecycle.restore, "1.2.0")
    assert tags(one) == ["1.1.0", "1.2.0", "latest", "main", "old"]


# --- Versions that are the same ---------------------------------------------------------------------------------------


def test_build_metadata_makes_no_second_version(push, pusher):
    assert push().status_code == 201

    answer = push(tag="1.2.0_build.5")

    assert code_of(answer) == (409, "DENIED")
    assert "1.2.0+build.5 is the same version as 1.2.0" in said(answer)
    assert tags(pusher(NAME)) == ["1.2.0", "latest"]


# --- After a purge ----------------------------------------------------------------------------------------------------


@for_each_row("tag", ["latest", "main"])
def test_what_is_pushed_anew_after_a_purge_is_there(push, pusher, olga, tag):
    assert push().status_code == 201
    assert pusher(NAME).put(RAW, "main").status_code == 201
    purge(olga, "1.2.0")
    assert tags(pusher(NAME)) == []

    assert push(tag=tag).status_code == 201

    one = pusher(NAME)
    assert tags(one) == [tag]
    assert one.get(tag).content == one.get(digest_of(RAW)).content == RAW
    assert code_of(one.get("1.2.0")) == (404, "MANIFEST_UNKNOWN")


# --- latest -----------------------------------------------------------------------------------------------------------


def test_what_is_yanked_cannot_be_latest(push, pusher, act):
    assert push().status_code == push(package(OTHER), "1.1.0", OTHER).status_code == 201
    act(lifecycle.yank, "1.2.0")

    answer = push(tag="latest")

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert "1.2.0 is yanked" in said(answer)
    assert pusher(NAME).get("latest").content == package(OTHER)
