"""Providers as an OCI mirror: documents that `oci_mirror` of OpenTofu takes, derived from what is published."""

import hashlib
import json

import pytest

from apps.providers.models import Package, ProviderVersion
from apps.releases.catalogue import downloads
from apps.releases.models import DownloadCount, Release
from tests.oci.conftest import HOST, note_digests
from tests.oci.conftest import MIRROR as NAME
from tests.oci.manifests.documents import IMAGE, INDEX, Repo, code_of, digest_of
from tests.providers import draft_client
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("ours")


def manifest_of(mirror, platform: str = "linux", tag: str = "1.2.0"):
    """The descriptor of a platform, and the answer to who asks for it."""
    index = json.loads(mirror.get(tag).content)
    (entry,) = [one for one in index["manifests"] if one["platform"]["os"] == platform]
    return entry, mirror.get(entry["digest"])


def test_its_documents_are_frozen(shelf, mirror, golden):
    (version,) = shelf("1.2.0", platforms=("linux_amd64",))
    # Go's zips differ with zlib: the digest of this one is made the same everywhere.
    Package.objects.filter(version=version).update(digest="ab" * 32, size=1234)
    note_digests(version)

    assert mirror.get("1.2.0").content == golden("oci/provider-index.json")
    assert mirror.get(Package.objects.get().manifest_digest).content == golden("oci/provider-manifest.json")


def test_a_client_finds_its_way_from_the_tags_to_the_zip(shelf, mirror):
    shelf("1.2.0", "1.3.0-rc.1", "1.1.0+build.5")

    assert mirror.tags().json() == {"name": NAME, "tags": ["1.1.0_build.5", "1.2.0", "1.3.0-rc.1"]}
    head, got = mirror.head("1.2.0"), mirror.get("1.2.0")
    assert head.headers["Content-Type"] == got.headers["Content-Type"] == INDEX
    assert head.headers["Docker-Content-Digest"] == digest_of(got.content)
    assert mirror.get(digest_of(got.content)).content == got.content
    index = json.loads(got.content)
    assert (index["mediaType"], index["artifactType"]) == (INDEX, "application/vnd.opentofu.provider")
    assert [one["platform"] for one in index["manifests"]] == [
        {"os": "darwin", "architecture": "arm64"},
        {"os": "linux", "architecture": "amd64"},
    ]
    entry, answer = manifest_of(mirror)
    assert answer.headers["Content-Type"] == entry["mediaType"] == IMAGE
    assert (digest_of(answer.content), len(answer.content)) == (entry["digest"], entry["size"])
    manifest = json.loads(answer.content)
    assert manifest["artifactType"] == entry["artifactType"] == "application/vnd.opentofu.provider-target"
    (layer,) = manifest["layers"]
    zipped = b"".join(mirror.client.get(f"/v2/{NAME}/blobs/{layer['digest']}").streaming_content)
    assert layer["mediaType"] == "archive/zip"
    assert (f"sha256:{hashlib.sha256(zipped).hexdigest()}", len(zipped)) == (layer["digest"], layer["size"])
    config = mirror.client.get(f"/v2/{NAME}/blobs/{manifest['config']['digest']}")
    assert b"".join(config.streaming_content) == b"{}"


def test_the_pipeline_notes_the_digests_and_the_page_shows_them(acme, alice, dora, tofu, browser_of, worker_host):
    draft_client.hold(acme, dora)
    done = draft_client.DraftClient(tofu(alice)).publish(draft_client.zips(), protocols=["5.0"])
    assert done["state"] == "published", done
    mirror = Repo(tofu(alice), f"providers/{HOST}/acme/dns")

    version = ProviderVersion.objects.get()
    entry, answer = manifest_of(mirror)

    assert mirror.head("1.2.0").headers["Docker-Content-Digest"] == version.index_digest
    assert Package.objects.get(os="linux").manifest_digest == entry["digest"] == digest_of(answer.content)
    assert version.index_digest in browser_of(alice).get("/providers/acme/dns/1.2.0").content.decode()


def test_only_whole_versions_are_tags(shelf, mirror):
    shelf("1.2.0", "2.0.0")

    for tag in ("2", "1.2", "v1.2.0", "latest", "9.9.9"):
        assert code_of(mirror.get(tag)) == (404, "MANIFEST_UNKNOWN"), tag


def test_what_is_not_here_is_an_unknown_name_so_that_init_goes_on(shelf, tofu, alice, acme):
    shelf("1.2.0")

    # Without a token what is unknown elsewhere reads as what is hidden, and gets a challenge first
    for name, who in (
        (f"providers/{HOST}/pantry/nothing", None),
        ("providers/elsewhere.example.com/pantry/dns", alice),
    ):
        other = Repo(tofu(who), name)
        for answer in (other.tags(), other.get("1.2.0"), other.client.get(f"/v2/{name}/blobs/sha256:{'a' * 64}")):
            assert code_of(answer) == (404, "NAME_UNKNOWN")


def test_yanked_versions_answer_whoever_names_them_and_deprecated_ones_warn(shelf, mirror):
    shelf("1.2.0", "1.3.0")
    Release.objects.filter(version="1.3.0").update(lifecycle="yanked", lifecycle_reason="It leaks.")
    Release.objects.filter(version="1.2.0").update(lifecycle="deprecated", lifecycle_reason="It is old.")

    assert mirror.tags().json()["tags"] == ["1.2.0"]
    assert mirror.get("1.3.0").status_code == 200
    assert mirror.get("1.2.0").headers["Warning"] == '299 - "1.2.0 is deprecated: It is old."'


def test_quarantine_serves_neither_documents_nor_bytes(shelf, mirror):
    (version, _) = shelf("1.2.0", "1.3.0")
    entry, answer = manifest_of(mirror)
    (layer,) = json.loads(answer.content)["layers"]
    Release.objects.filter(version="1.2.0").update(quarantined_at=version.release.published_at)

    assert mirror.tags().json()["tags"] == ["1.3.0"]
    for reference in ("1.2.0", version.index_digest, entry["digest"]):
        assert code_of(mirror.get(reference)) == (404, "MANIFEST_UNKNOWN")
    assert code_of(mirror.client.get(f"/v2/{NAME}/blobs/{layer['digest']}")) == (404, "BLOB_UNKNOWN")


def test_a_platforms_manifest_is_the_download(shelf, mirror):
    downloads.flush()  # what other tests' requests left behind
    (version,) = shelf("1.2.0")

    mirror.tags()
    mirror.head("1.2.0")
    manifest_of(mirror)
    downloads.flush()

    counted = DownloadCount.objects.filter(release=version.release)
    assert list(counted.values_list("client", "count")) == [("OpenTofu 1.12.6", 1)]


@for_each_row("count", [3, 9])
def test_it_costs_the_same_at_any_number_of_versions(shelf, mirror, django_assert_max_num_queries, count):
    shelf(*(f"1.{number}.0" for number in range(count)))
    entry, _ = manifest_of(mirror, tag="1.0.0")

    with django_assert_max_num_queries(3):
        assert mirror.tags().status_code == 200
    with django_assert_max_num_queries(4):
        assert mirror.get("1.0.0").status_code == 200
    with django_assert_max_num_queries(4):
        assert mirror.get(entry["digest"]).status_code == 200


def test_nothing_is_attached_to_what_is_made_from_releases(shelf, mirror, tofu, acme, charlie):
    """An empty index for every possible provider, existing or not; hidden and foreign ones are not revealed."""
    shelf("1.2.0")
    digest = mirror.head("1.2.0").headers["Docker-Content-Digest"]
    mirror.client = tofu(charlie)
    for name in (NAME, f"providers/{HOST}/pantry/unknown"):
        answer = Repo(mirror.client, name).referrers(digest)
        assert (answer.status_code, answer.json()["manifests"]) == (200, []), name

    for name in (
        f"providers/{HOST}/acme/dns",
        f"providers/{HOST}/emca/dns",
        "providers/elsewhere.example.org/pantry/dns",
    ):
        assert code_of(Repo(mirror.client, name).referrers(digest)) == (404, "NAME_UNKNOWN"), name
