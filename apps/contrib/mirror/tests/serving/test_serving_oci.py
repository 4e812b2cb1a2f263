"""From a client's request by the OCI mirror to the registry and back."""

import hashlib
import json

import pytest

from apps.accounts.models import Visibility
from apps.contrib.mirror.models import Effect, PolicyRule, Upstream, UpstreamPackage, UpstreamProvider, UpstreamVersion
from apps.contrib.mirror.tests import fetched
from apps.contrib.mirror.tests.edge_client import Edge, body_of
from tests.builders import faults
from tests.oci.manifests.documents import code_of, digest_of

PLATFORMS = ["linux_amd64", "darwin_arm64"]


@pytest.fixture
def tool(registry):
    return registry.add_provider("acme", "tool", versions=["1.0.0", "1.1.0+build.5"], platforms=PLATFORMS)


@pytest.fixture
def mirror(tool, upstream, bearer, charlie):
    return Mirror(Edge(bearer(charlie)), f"/v2/providers/{upstream.host}/acme/tool")


class Mirror:
    def __init__(self, edge: Edge, base: str) -> None:
        self.edge, self.base = edge, base

    def tags(self):
        return self.edge.get(f"{self.base}/tags/list")

    def manifest(self, reference: str):
        return self.edge.get(f"{self.base}/manifests/{reference}")

    def blob(self, digest: str):
        return self.edge.get(f"{self.base}/blobs/{digest}")

    def layer(self, entry) -> str:
        return str(json.loads(self.manifest(entry["digest"]).content)["layers"][0]["digest"])


@pytest.mark.parametrize("is_sealed", [False, True])
def test_what_is_stored_is_found_by_its_tag_although_the_registry_lists_it_no_longer(
    mirror, tool, registry, upstream, is_sealed
):
    fetched.stored(upstream, "1.0.0")
    tool.versions.remove("1.0.0")
    fetched.stale(UpstreamProvider.objects.get(), days=1)
    assert mirror.tags().json()["tags"] == ["1.0.0", "1.1.0_build.5"]
    Upstream.objects.update(is_sealed=is_sealed)
    registry.misbehave("*", faults.says(404))
    answer = mirror.manifest("1.0.0")
    (entry,) = json.loads(answer.content)["manifests"]
    assert mirror.manifest(digest_of(answer.content)).content == answer.content
    assert body_of(mirror.blob(mirror.layer(entry))) == tool.zip("1.0.0")


@pytest.mark.both
def test_a_client_finds_its_way_from_the_tags_to_the_zip(mirror, tool, registry):
    assert mirror.tags().json()["tags"] == ["1.0.0", "1.1.0_build.5"]
    answer = mirror.manifest("1.0.0")
    index = json.loads(answer.content)
    assert (index["mediaType"], index["artifactType"]) == (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.opentofu.provider",
    )
    assert [one["platform"]["os"] for one in index["manifests"]] == ["darwin", "linux"]
    assert mirror.manifest(digest_of(answer.content)).content == answer.content
    assert registry.count("*.zip") == 2  # their sizes
    entry = index["manifests"][1]
    got = mirror.manifest(entry["digest"])
    assert (digest_of(got.content), len(got.content)) == (entry["digest"], entry["size"])
    (layer,) = json.loads(got.content)["layers"]
    zipped = tool.zip("1.0.0", "linux_amd64")
    assert (layer["digest"], layer["size"]) == (f"sha256:{hashlib.sha256(zipped).hexdigest()}", len(zipped))
    assert body_of(mirror.blob(layer["digest"])) == zipped
    # the bytes are there, and the documents are what they were
    assert mirror.manifest("1.0.0").content == answer.content


def test_what_a_rule_refuses_is_absent_by_tag_and_by_digest(mirror, upstream):
    whole = mirror.manifest("1.0.0")
    darwin, linux = json.loads(whole.content)["manifests"]
    darwin_zip, linux_zip = mirror.layer(darwin), mirror.layer(linux)
    rule = PolicyRule.objects.create(
        upstream=upstream, position=1, pattern="*", effect=Effect.DENY, platforms=["darwin_arm64"]
    )

    shown = mirror.manifest("1.0.0")
    assert [one["platform"]["os"] for one in json.loads(shown.content)["manifests"]] == ["linux"]
    assert mirror.manifest(digest_of(shown.content)).content == shown.content
    assert code_of(mirror.manifest(digest_of(whole.content))) == (404, "MANIFEST_UNKNOWN")
    assert code_of(mirror.manifest(darwin["digest"])) == (403, "DENIED")
    assert code_of(mirror.blob(darwin_zip)) == (403, "DENIED")

    PolicyRule.objects.filter(pk=rule.pk).update(platforms=[], versions="= 1.0.0")
    assert mirror.tags().json()["tags"] == ["1.1.0_build.5"]
    for answer in (mirror.manifest("1.0.0"), mirror.manifest(linux["digest"]), mirror.blob(linux_zip)):
        assert code_of(answer) == (403, "DENIED")
        assert "rule 1" in answer.json()["errors"][0]["message"]


def test_what_is_unknown_there_is_an_unknown_manifest(mirror):
    for reference in ("9.9.9", "latest", "1", "sha256:" + "a" * 64):
        assert code_of(mirror.manifest(reference)) == (404, "MANIFEST_UNKNOWN")
    assert code_of(mirror.blob("sha256:" + "a" * 64)) == (404, "BLOB_UNKNOWN")


def test_d8_a_hidden_registry_is_an_unknown_name(mirror, upstream, bearer, olga):
    upstream.visibility = Visibility.PRIVATE
    upstream.save()
    nobody, staff = Mirror(Edge({}), mirror.base), Mirror(Edge(bearer(olga)), mirror.base)

    assert code_of(nobody.tags()) == (401, "UNAUTHORIZED")
    assert code_of(mirror.tags()) == code_of(mirror.manifest("1.0.0")) == (404, "NAME_UNKNOWN")
    assert staff.manifest("1.0.0").status_code == 200


def test_a_size_that_the_registry_claims_wrongly_ends_in_another_manifest_and_never_in_wrong_bytes(
    mirror, tool, registry, upstream
):
    fetched.recorded(upstream)
    UpstreamPackage.objects.update(size=7)  # as a HEAD may say
    wrong = mirror.manifest("1.0.0")
    digest = f"sha256:{hashlib.sha256(tool.zip('1.0.0')).hexdigest()}"

    assert body_of(mirror.blob(digest)) == tool.zip("1.0.0")
    right = json.loads(mirror.manifest("1.0.0").content)
    assert right != json.loads(wrong.content)
    (layer,) = json.loads(mirror.manifest(right["manifests"][1]["digest"]).content)["layers"]
    assert layer["size"] == len(tool.zip("1.0.0"))


def test_a_registry_that_is_away_is_503_with_its_url(mirror, tool, registry):
    registry.misbehave(tool.list_path, faults.says(502))
    answer = mirror.tags()

    assert code_of(answer) == (503, "UNAVAILABLE")
    assert tool.list_path in answer.json()["errors"][0]["message"]
    assert not UpstreamVersion.objects.exists()
