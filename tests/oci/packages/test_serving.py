"""Releases as module packages: by tag, by digest and as `latest`, however they were published."""

import hashlib
import json

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.modules.models import ModuleVersion
from apps.releases.catalogue import downloads
from apps.releases.models import DownloadCount
from tests.oci.manifests.documents import code_of, digest_of, package
from tests.rows import for_each_row

PUBLIC = "pantry/vpc/aws"


def tags_of(one) -> list[str]:
    return one.tags().json()["tags"]


def test_a_module_from_the_api_is_at_once_a_package_of_the_very_archive(published, frozen_zip, anybody, golden):
    published(PUBLIC, "1.2.0", data=frozen_zip)

    head, got = anybody.head("1.2.0"), anybody.get("1.2.0")

    assert got.status_code == head.status_code == 200
    assert got.content == golden("oci/module-manifest.json")
    assert head.headers["Content-Length"] == str(len(got.content))
    assert got.headers["Content-Type"] == "application/vnd.oci.image.manifest.v1+json"
    assert got.headers["Docker-Content-Digest"] == digest_of(got.content) == head.headers["Docker-Content-Digest"]
    assert anybody.get(digest_of(got.content)).content == got.content
    assert anybody.get("latest").content == got.content
    assert tags_of(anybody) == ["1.2.0", "latest"]
    manifest = json.loads(got.content)
    (layer,) = manifest["layers"]
    assert layer["size"] == len(frozen_zip)
    for part, data in ((layer, frozen_zip), (manifest["config"], b"{}")):
        assert anybody.client.get(f"/v2/{PUBLIC}/blobs/{part['digest']}").getvalue() == data


def test_the_manifest_stays_the_same_whatever_is_said_of_the_module(published, anybody, alice):
    release = published(PUBLIC, "1.2.0")
    before = anybody.get("1.2.0").content
    module = ModuleVersion.objects.get(release=release).module
    module.description, module.source_url = "Another one", "https://git.example.com/vpc"
    module.save()

    assert anybody.get("1.2.0").content == before
    assert ModuleVersion.objects.get(release=release).manifest_digest == digest_of(before)


def test_build_metadata_is_written_with_an_underscore(published, anybody):
    """Case 21."""
    published(PUBLIC, "1.2.0+build.5")

    assert tags_of(anybody) == ["1.2.0_build.5", "latest"]
    assert json.loads(anybody.get("1.2.0_build.5").content)["annotations"]["org.opencontainers.image.version"] == (
        "1.2.0+build.5"
    )
    assert code_of(anybody.get("1.2.0")) == (404, "MANIFEST_UNKNOWN")


def test_latest_is_the_highest_stable_one_that_nobody_advises_against_and_others_warn(published, anybody, alice):
    published(PUBLIC, "2.0.0-rc.1")
    assert tags_of(anybody) == ["2.0.0-rc.1"]
    assert code_of(anybody.get("latest")) == (404, "MANIFEST_UNKNOWN")
    for version in ("1.9.0", "1.10.0", "1.0.1"):
        published(PUBLIC, version)
    address = ModuleAddress.parse(PUBLIC)

    def latest() -> str:
        return json.loads(anybody.get("latest").content)["annotations"]["org.opencontainers.image.version"]

    assert latest() == "1.10.0"
    lifecycle.deprecate(viewer=Viewer(alice), address=address, version="1.10.0", reason='It "leaks".\nBadly.')
    assert latest() == "1.9.0"
    deprecated = anybody.head("1.10.0")
    assert (deprecated.status_code, deprecated.headers["Warning"]) == (
        200,
        "299 - \"1.10.0 is deprecated: It 'leaks'. Badly.\"",
    )
    for version in ("1.9.0", "1.0.1"):
        lifecycle.deprecate(viewer=Viewer(alice), address=address, version=version, reason="It leaks.")
    assert latest() == "1.10.0"
    assert tags_of(anybody) == ["1.0.1", "1.10.0", "1.9.0", "2.0.0-rc.1", "latest"]


@for_each_row("is_pushed", [False, True], ids=["latest by its number", "latest as it was pushed"])
def test_a_yanked_version_is_listed_no_more_and_answers_those_who_name_it(published, pusher, dora, is_pushed):
    for version in ("1.2.0", "1.3.0"):
        published("acme/vpc/aws", version)
    one = pusher("acme/vpc/aws")
    yanked = one.get("1.3.0")
    if is_pushed:
        one.blob(b"{}")
        assert one.put(yanked.content, "latest").status_code == 201
    lifecycle.yank(viewer=Viewer(dora), address=ModuleAddress.parse("acme/vpc/aws"), version="1.3.0", reason="Gone.")

    assert tags_of(one) == ["1.2.0", "latest"]
    assert one.get("1.3.0").status_code == one.get(yanked.headers["Docker-Content-Digest"]).status_code == 200
    assert one.get("latest").content == one.get("1.2.0").content


@for_each_row("end", ["quarantine", "purge"])
def test_what_is_in_quarantine_or_removed_answers_nothing(published, anybody, olga, frozen_zip, end):
    published(PUBLIC, "1.2.0", data=frozen_zip)
    published(PUBLIC, "1.3.0")
    digest = anybody.get("1.2.0").headers["Docker-Content-Digest"]
    more = {"confirm": f"{PUBLIC} 1.2.0"} if end == "purge" else {}
    act = getattr(lifecycle, end)
    act(viewer=Viewer(olga), address=ModuleAddress.parse(PUBLIC), version="1.2.0", reason="It has a key.", **more)
    blob = f"/v2/{PUBLIC}/blobs/sha256:{hashlib.sha256(frozen_zip).hexdigest()}"

    assert code_of(anybody.get("1.2.0")) == (404, "MANIFEST_UNKNOWN")
    assert code_of(anybody.get(digest)) == (404, "MANIFEST_UNKNOWN")
    assert code_of(anybody.client.get(blob)) == (404, "BLOB_UNKNOWN")
    assert tags_of(anybody) == ["1.3.0", "latest"]


def test_a_manifest_get_is_a_download_and_a_head_is_none(published, anybody, bob, tofu):
    downloads.flush()  # what other tests' requests left behind
    release = published(PUBLIC, "1.2.0")
    digest = anybody.head("1.2.0").headers["Docker-Content-Digest"]
    assert anybody.head(digest).status_code == anybody.get(digest).status_code == 200
    downloads.flush()

    assert list(DownloadCount.objects.filter(release=release).values_list("client", "count")) == [
        ("OpenTofu 1.12.6", 1)
    ]


def test_a_latest_that_was_pushed_is_no_release_and_holds_until_the_next_stable_one(published, pusher, frozen_zip):
    one = pusher(PUBLIC)
    raw = package(frozen_zip, annotations={"from": "the seed"})
    one.push(raw, "latest", frozen_zip)
    assert not ModuleVersion.objects.exists()
    assert one.get("latest").content == raw
    published(PUBLIC, "1.2.0")
    one.push(raw, "latest", frozen_zip)

    assert tags_of(one) == ["1.2.0", "latest"]
    published(PUBLIC, "1.3.0-rc.1")
    assert one.get("latest").content == raw
    published(PUBLIC, "1.1.0")
    assert one.get("latest").content == one.get("1.2.0").content


@pytest.mark.slow
@for_each_row("count", [2, 6])
def test_reading_a_release_costs_the_same_at_any_number_of_versions(
    published, anybody, django_assert_max_num_queries, count
):
    for number in range(count):
        published(PUBLIC, f"1.{number}.0")
    digest = anybody.get("1.0.0").headers["Docker-Content-Digest"]

    for reference in ("1.0.0", digest, "latest"):
        with django_assert_max_num_queries(2):  # gate, version; a token costs a third
            assert anybody.get(reference).status_code == 200
    with django_assert_max_num_queries(2):
        assert anybody.tags().status_code == 200
