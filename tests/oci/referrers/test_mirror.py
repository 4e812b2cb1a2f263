"""Larder's attachments to the index of a provider and to the manifests of its platforms, in the provider mirror."""

import json

import pytest

from apps.provenance.models import Referrer
from apps.providers.models import Package
from apps.releases.models import Release
from tests.builders import attestations
from tests.builders.attestations import BUNDLE, DSSE
from tests.oci.conftest import MIRROR as NAME
from tests.oci.manifests.documents import IMAGE, INDEX, Repo, code_of, pages
from tests.oci.referrers.conftest import state
from tests.rows import for_each_row


@pytest.fixture
def version(shelf):
    """pantry/dns 1.2.0 for two platforms."""
    return shelf("1.2.0")[0]


def package_of(version, os):
    return Package.objects.get(version=version, os=os)


def listed(mirror, digest, query=""):
    return mirror.referrers(digest, query).json()["manifests"]


def test_a_statement_is_found_at_the_index_and_at_each_platform(version, mirror):
    statement = state(version.release)
    linux, darwin = package_of(version, "linux"), package_of(version, "darwin")

    subjects = {version.index_digest: INDEX, linux.manifest_digest: IMAGE, darwin.manifest_digest: IMAGE}
    found = {}
    for digest, media_type in subjects.items():
        (entry,) = listed(mirror, digest)
        manifest = json.loads(mirror.get(entry["digest"]).content)
        subject = mirror.get(digest).content
        assert manifest["subject"] == {"mediaType": media_type, "digest": digest, "size": len(subject)}
        assert entry["artifactType"] == DSSE
        (layer,) = manifest["layers"]
        got = mirror.client.get(f"/v2/{NAME}/blobs/{layer['digest']}")
        assert got.getvalue() == bytes(statement.envelope)
        assert mirror.client.head(f"/v2/{NAME}/blobs/{layer['digest']}").headers["Content-Length"] == str(layer["size"])
        assert mirror.client.get(f"/v2/{NAME}/blobs/{manifest['config']['digest']}").getvalue() == b"{}"
        found[digest] = entry["digest"]
    assert len(set(found.values())) == 3
    assert statement.manifest_digest == found[version.index_digest]


@pytest.mark.both
@for_each_row("by", ["package", "manifest"])
def test_an_attestation_is_found_at_the_platform_that_it_names(version, mirror, attach, by):
    linux, darwin = package_of(version, "linux"), package_of(version, "darwin")
    named = linux.digest if by == "package" else linux.manifest_digest.removeprefix("sha256:")
    attestation = attach(version.release, attestations.bundle(named, "f" * 64))

    assert attestation.subjects == [named]
    assert [one["digest"] for one in listed(mirror, version.index_digest)] == [attestation.manifest_digest]
    assert len(listed(mirror, linux.manifest_digest)) == 1
    assert listed(mirror, darwin.manifest_digest) == []


def test_the_api_attaches_to_a_provider_by_the_digest_of_its_sums(version, mirror, tofu, alice):
    content = attestations.dsse(version.sums_digest)
    url = "/api/v1/providers/pantry/dns/1.2.0/attestations"
    answer = tofu(alice).generic("POST", url, content, content_type=DSSE)

    assert answer.status_code == 201, answer.content
    assert tofu().get(url).json()["attestations"][0]["subjects"] == [f"sha256:{version.sums_digest}"]
    assert tofu().get(answer.headers["Location"]).content == content
    assert len(listed(mirror, version.index_digest)) == 1
    assert listed(mirror, package_of(version, "linux").manifest_digest) == []
    other = tofu(alice).generic("POST", url, attestations.dsse("0" * 64), content_type=DSSE)
    assert other.json()["error"]["message"].endswith("expected one of the digests of pantry/dns 1.2.0.")


@pytest.mark.both
def test_filters_pages_and_counts_of_queries(version, mirror, attach, django_assert_num_queries, monkeypatch):
    state(version.release)
    for number in range(3):
        attach(version.release, attestations.dsse(version.sums_digest, predicate={"number": number}))
    attach(version.release, attestations.bundle(version.sums_digest))

    assert len(listed(mirror, version.index_digest, f"?artifactType={BUNDLE.replace('+', '%2B')}")) == 1
    with django_assert_num_queries(2):  # gate, those of Larder
        assert len(listed(mirror, version.index_digest)) == 5
    monkeypatch.setattr("apps.oci.referrers.MAX_DESCRIPTORS", 2)
    found = pages(mirror.client, f"/v2/{NAME}/referrers/{version.index_digest}")
    walked = [one["digest"] for page in found for one in page.json()["manifests"]]
    at_index = Referrer.objects.filter(subject=version.index_digest).order_by("pk")
    assert walked == list(at_index.values_list("digest", flat=True))
    assert mirror.referrers(version.index_digest, "?last=x").status_code == 400


def test_quarantine_takes_it_away(version, mirror):
    statement = state(version.release)
    Release.objects.update(quarantined_at=version.release.published_at)

    assert listed(mirror, version.index_digest) == []
    assert code_of(mirror.get(statement.manifest_digest))[0] == 404
    assert mirror.client.get(f"/v2/{NAME}/blobs/sha256:{statement.digest}").status_code == 404


def test_under_another_host_name_there_is_nothing(version, tofu):
    statement = state(version.release)
    elsewhere = Repo(tofu(), "providers/registry.opentofu.org/pantry/dns")
    for answer in (
        elsewhere.referrers(version.index_digest),
        elsewhere.get(statement.manifest_digest),
        elsewhere.client.get(f"/v2/{elsewhere.name}/blobs/sha256:{statement.digest}"),
    ):
        assert answer.status_code in (401, 404)
