"""Larder's attachments to the manifest of a module's release, as `oras discover`, `cosign` and `gh` find them."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.artifacts import attachments, gc
from apps.artifacts.models import Manifest
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.oci import referrers as lists
from apps.provenance import referrers
from apps.provenance.models import Referrer
from apps.releases.models import Release
from tests.builders import attestations
from tests.builders.attestations import BUNDLE, DSSE, PROVENANCE
from tests.oci.manifests.documents import EMPTY, IMAGE, SBOM, attached, code_of, digest_of, image, pages
from tests.oci.packages.samples import RAW, ZIP, purge
from tests.oci.referrers.conftest import NAME, state

BUNDLES = f"?artifactType={BUNDLE.replace('+', '%2B')}"


def manifest_of(at, reference="1.2.0"):
    return at.head(reference).headers["Docker-Content-Digest"]


def listed(at, query="", reference="1.2.0"):
    return at.referrers(manifest_of(at, reference), query).json()["manifests"]


def blob(at, digest, method="get", **headers):
    return getattr(at.client, method)(f"/v2/{NAME}/blobs/{digest}", headers=headers)


def test_a_client_finds_the_statement_and_the_attestation_and_fetches_their_bytes(repo, release, attach):
    statement, attestation = state(release), attach(release)
    at = repo(NAME)
    package = at.get("1.2.0")
    first, second = listed(at)

    assert (first["artifactType"], second["artifactType"]) == (DSSE, BUNDLE)
    assert first["annotations"] == {"in-toto.io/predicate-type": PROVENANCE, "larder.said-by": "registry"}
    assert second["annotations"] == {
        "dev.sigstore.bundle.content": "dsse-envelope",
        "dev.sigstore.bundle.predicateType": PROVENANCE,
        "larder.said-by": "publisher",
    }
    assert (first["digest"], second["digest"]) == (statement.manifest_digest, attestation.manifest_digest)
    for entry, content in ((first, statement.envelope), (second, attestation.content)):
        got, head = at.get(entry["digest"]), at.head(entry["digest"])
        assert (entry["mediaType"], entry["size"]) == (IMAGE, len(got.content))
        assert got.headers["Content-Type"] == head.headers["Content-Type"] == IMAGE
        assert head.headers["Content-Length"] == str(entry["size"])
        assert entry["digest"] == digest_of(got.content) == got.headers["Docker-Content-Digest"]
        manifest = json.loads(got.content)
        assert manifest["artifactType"] == entry["artifactType"] == manifest["layers"][0]["mediaType"]
        assert manifest["annotations"] == entry["annotations"]
        assert manifest["subject"] == {
            "mediaType": package.headers["Content-Type"],
            "digest": digest_of(package.content),
            "size": len(package.content),
        }
        assert manifest["config"]["mediaType"] == EMPTY
        assert blob(at, manifest["config"]["digest"]).getvalue() == b"{}"
        (layer,) = manifest["layers"]
        assert blob(at, layer["digest"]).getvalue() == bytes(content)
        head = blob(at, layer["digest"], "head")
        assert (head.status_code, head.headers["Content-Length"]) == (200, str(layer["size"]))
        assert blob(at, layer["digest"], Range="bytes=0-3").getvalue() == bytes(content)[:4]


def test_their_bytes_are_frozen(release, attach, golden):
    state(release)
    bundle, dsse, signed = (
        attach(release, make(release.digest)) for make in (attestations.bundle, attestations.dsse, attestations.signed)
    )
    Referrer.objects.update(subject="sha256:" + "cd" * 32, subject_size=567)
    rows = {"statement": Referrer.objects.get(statement__isnull=False)}
    rows |= {name: Referrer.objects.get(attestation=of) for name, of in
             (("bundle", bundle), ("dsse", dsse), ("signature", signed))}  # fmt: skip
    for name, row in rows.items():
        of = row.statement or row.attestation
        assert of is not None
        of.digest, of.size = "ab" * 32, 1234
        assert referrers.raw(row) == golden(f"oci/referrer-{name}.json")


@pytest.mark.both
def test_a_filter_by_type_finds_those_of_larder_as_well(repo, release, attach):
    state(release)
    attach(release)
    at = repo(NAME)

    answer = at.referrers(manifest_of(at), BUNDLES)
    assert [one["artifactType"] for one in answer.json()["manifests"]] == [BUNDLE]
    assert answer.headers["OCI-Filters-Applied"] == "artifactType"
    assert listed(at, "?artifactType=text/none") == []
    assert listed(at, "?artifactType=%00") == []


@pytest.mark.both
def test_pushed_ones_come_first_and_pages_lead_from_these_to_larders(repo, release, attach, monkeypatch):
    state(release)
    attach(release)
    at = repo(NAME)
    package = at.get("1.2.0").content
    pushed = [at.push(attached(package, annotations={"number": str(number)})) for number in range(2)]
    ours = [row.digest for row in Referrer.objects.order_by("pk")]
    assert [one["digest"] for one in listed(at)] == pushed + ours

    for size in (1, 2, 3):
        monkeypatch.setattr(attachments, "MAX_DESCRIPTORS", size)
        monkeypatch.setattr(lists, "MAX_DESCRIPTORS", size)
        walked = pages(at.client, f"/v2/{NAME}/referrers/{manifest_of(at)}")
        found = [[one["digest"] for one in page.json()["manifests"]] for page in walked]
        assert [digest for page in found for digest in page] == pushed + ours, size
        assert max(len(page) for page in found) <= size


@pytest.mark.both
def test_two_releases_with_one_manifest_list_each_document_once(repo, work, attach):
    at = repo(NAME)
    for data in (b"{}", ZIP):
        at.blob(data)
    for tag in ("1.2.0", "1.3.0"):
        at.put(RAW, tag)
        work()
        assert at.put(RAW, tag).status_code == 201
    first, second = Release.objects.order_by("pk")
    content = attestations.bundle(first.digest)
    assert attach(first, content).manifest_digest == attach(second, content).manifest_digest

    assert len(listed(at, BUNDLES)) == 1


def test_quarantine_and_purge_take_all_of_it_away(repo, tofu, release, attach, olga):
    statement, attestation = state(release), attach(release)
    at = repo(NAME)
    digest = manifest_of(at)
    layers = [f"sha256:{one.digest}" for one in (statement, attestation)]
    address, staff = ModuleAddress.parse(NAME), Viewer(olga)

    lifecycle.quarantine(viewer=staff, address=address, version="1.2.0", reason="Malware.")
    assert at.referrers(digest).json()["manifests"] == []
    for one in (statement, attestation):
        assert code_of(at.get(one.manifest_digest)) == (404, "MANIFEST_UNKNOWN")
    assert [blob(at, one).status_code for one in layers] == [404, 404]

    lifecycle.restore(viewer=staff, address=address, version="1.2.0", reason="A false alarm.")
    assert len(at.referrers(digest).json()["manifests"]) == 2
    purge(olga, "1.2.0")
    assert at.referrers(digest).json()["manifests"] == []
    assert [blob(at, one).status_code for one in layers] == [404, 404]


def test_in_its_cool_down_a_release_answers_by_digest_alone_and_so_does_what_is_said_of_it(repo, release, attach):
    at = repo(NAME)
    digest = manifest_of(at)
    attestation = attach(release)
    Release.objects.update(visible_at=timezone.now() + timedelta(hours=5))

    assert at.get("1.2.0").status_code == 403
    assert at.get(digest).status_code == 200
    assert len(at.referrers(digest).json()["manifests"]) == 1
    assert at.get(attestation.manifest_digest).status_code == 200


def test_a_private_namespace_shows_strangers_nothing(repo, tofu, published, attach, bob, charlie):
    release = published()
    attestation = attach(release)
    layer = f"sha256:{attestation.digest}"
    for user, status in ((bob, 200), (charlie, 404)):
        at = repo("acme/vpc/aws", user)
        assert at.get(attestation.manifest_digest).status_code == status
        assert at.client.get(f"/v2/acme/vpc/aws/blobs/{layer}").status_code == status
    elsewhere = repo("pantry/other/aws")
    assert elsewhere.client.get(f"/v2/pantry/other/aws/blobs/{layer}").status_code == 404
    assert elsewhere.get(attestation.manifest_digest).status_code == 404
    assert tofu().get(f"/v2/acme/vpc/aws/manifests/{attestation.manifest_digest}").status_code == 401


def test_it_is_not_deleted_over_oci(repo, release, attach):
    attestation = attach(release)
    at = repo(NAME)
    at.push(image(), "main")

    refused = at.delete(attestation.manifest_digest)
    assert code_of(refused) == (405, "UNSUPPORTED")
    assert "generated by Larder" in refused.json()["errors"][0]["message"]
    assert blob(at, f"sha256:{attestation.digest}", "delete").status_code == 405
    assert at.get(attestation.manifest_digest).status_code == 200


@pytest.mark.both
def test_what_is_attached_to_it_stays_and_bytes_that_larder_serves_need_not_be_sent(repo, release, attach, days_pass):
    """`cosign sign` of a statement's manifest; `oras cp` of an attestation to where it is."""
    attestation = attach(release)
    at = repo(NAME)
    ours = at.get(attestation.manifest_digest).content
    signature = at.push(attached(ours, SBOM))
    copied = image(bytes(attestation.content), layer_type=BUNDLE, artifactType=BUNDLE)
    assert at.put(copied, "copy").status_code == 201
    orphan = at.push(attached(b"nothing that is here"))
    days_pass()

    gc.collect()

    assert at.get(signature).status_code == 200
    assert at.get(orphan).status_code == 404
    assert not Manifest.objects.filter(digest=attestation.manifest_digest).exists()
    assert at.get("copy").content == copied


def test_the_list_costs_the_same_at_any_length(repo, release, attach, django_assert_num_queries):
    at = repo(NAME)
    digest = manifest_of(at)
    for count in (1, 4):
        for number in range(count):
            attach(release, attestations.dsse(release.digest, predicate={"number": [count, number]}))
        with django_assert_num_queries(4):  # token, gate, those pushed, those of Larder
            found = at.referrers(digest).json()["manifests"]
    assert len(found) == 5
