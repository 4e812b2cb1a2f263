"""`oras attach` of an attestation to a release: the requests that it sends, and what becomes of them."""

import json

import pytest
from structlog.testing import capture_logs

from apps.accounts.models import Scope
from apps.artifacts import gc
from apps.artifacts.models import Manifest
from apps.audit.models import AuditEvent
from apps.lib.net import bodies
from apps.provenance import attesting
from apps.provenance.models import Attestation, Referrer
from tests.builders import attestations
from tests.builders.attestations import BUNDLE, DSSE
from tests.oci.manifests.documents import IMAGE, SBOM, attached, code_of, descriptor, digest_of, image
from tests.oci.packages.samples import RAW, ZIP, purge, said
from tests.oci.referrers.conftest import NAME
from tests.rows import for_each_row

URL = f"/api/v1/modules/{NAME}/1.2.0/attestations"


def document(subject: bytes, *layers: bytes, layer_type: str = BUNDLE, artifact_type: str = BUNDLE, **more) -> bytes:
    return image(*layers, layer_type=layer_type, artifactType=artifact_type, subject=descriptor(subject, IMAGE), **more)


@pytest.fixture
def at(repo, release):
    return repo(NAME)


@pytest.fixture
def package(at):
    return at.get("1.2.0").content


def oras_attach(at, subject, content, **more):
    """HEAD the subject, the blobs and the manifest; POST and PUT what is missing; PUT the manifest by its digest."""
    assert at.head("1.2.0").status_code == 200
    raw = document(subject, content, **more)
    for data in (b"{}", content):
        if at.client.head(f"/v2/{NAME}/blobs/{digest_of(data)}").status_code == 404:
            begun = at.client.post(f"/v2/{NAME}/blobs/uploads/", content_type="application/octet-stream")
            place = f"{begun.headers['Location']}?digest={digest_of(data)}"
            put = at.client.generic("PUT", place, data, content_type="application/octet-stream")
            assert put.status_code == 201, put.content
    return raw, at.put(raw)


@for_each_row(("make", "media_type"), [(attestations.bundle, BUNDLE), (attestations.dsse, DSSE)])
def test_it_is_recorded_with_who_pushed_it_and_listed_with_the_others(
    at, package, release, attach, tofu, bob, make, media_type
):
    over_api = attach(release, attestations.signed(release.digest))
    content = make(digest_of(package).removeprefix("sha256:"))

    raw, answer = oras_attach(at, package, content, layer_type=media_type, artifact_type=media_type)

    assert answer.status_code == 201, answer.content
    assert answer.headers["OCI-Subject"] == digest_of(package)
    row = Attestation.objects.get(is_pushed=True)
    assert (row.manifest_digest, str(row.added_by), bytes(row.content)) == (digest_of(raw), "alice", content)
    assert not Referrer.objects.filter(attestation=row).exists(), "it is a manifest already"
    digests = [one["digest"] for one in at.referrers(digest_of(package)).json()["manifests"]]
    assert digests == [digest_of(raw), over_api.manifest_digest]
    listed = tofu(bob).get(URL).json()["attestations"]
    assert [(one["pushed"], one["added_by"]) for one in listed] == [(False, "alice"), (True, "alice")]
    assert listed[1]["manifest"] == digest_of(raw)
    event = AuditEvent.objects.filter(kind="namespace:attestation:added").latest("pk")
    assert (event.subject, event.detail["pushed"]) == (f"{NAME} 1.2.0", True)


@pytest.mark.both
def test_the_same_push_again_is_the_same_row(at, package, release):
    content = attestations.bundle(release.digest)
    first, again = oras_attach(at, package, content), oras_attach(at, package, content)

    assert [answer.status_code for _, answer in (first, again)] == [201, 201]
    assert Attestation.objects.count() == 1


def test_bytes_that_came_over_the_api_can_be_pushed_as_well(at, package, release, attach):
    over_api = attach(release)
    raw, answer = oras_attach(at, package, bytes(over_api.content))

    assert answer.status_code == 201, answer.content
    assert Attestation.objects.get().is_pushed is False
    assert at.delete(digest_of(raw)).status_code == 202
    assert Attestation.objects.get().pk == over_api.pk


def test_a_reader_attaches_nothing(at, repo, package, release, bob):
    """The body is there already, as a server hands on a small one, so the gate is asked once."""
    content = attestations.bundle(release.digest)
    for data in (b"{}", content):
        at.blob(data)
    raw = document(package, content)

    for reader in (repo(NAME, bob), repo(NAME, scope=Scope.READ)):
        url, whole = reader.url(digest_of(raw)), {bodies.ARRIVED: True}
        assert code_of(reader.client.generic("PUT", url, raw, content_type=IMAGE, **whole)) == (403, "DENIED")
    assert not Attestation.objects.exists()
    assert at.referrers(digest_of(package)).json()["manifests"] == []


@for_each_row(
    ("content", "why"),
    [
        (attestations.dsse("0" * 64), "a DSSE envelope, expected a Sigstore bundle"),
        (attestations.bundle("0" * 64), f"found sha256:{'0' * 64}, expected one of the digests of {NAME} 1.2.0."),
        (attestations.signed("0" * 64), f"found sha256:{'0' * 64}, expected one of the digests of {NAME} 1.2.0."),
        (b"{", "is not valid JSON"),
    ],
)
def test_what_is_no_bundle_or_one_for_other_bytes_is_refused_as_oras_prints_it(at, package, content, why):
    """The other refusals are in tests/provenance/attestations."""
    with capture_logs() as logs:
        raw, answer = oras_attach(at, package, content)

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert said(answer).startswith("This attestation was refused: ")
    assert why in said(answer)
    (line,) = [one for one in logs if one["event"] == "attestation_refused"]
    assert why in line["why"]
    assert at.get(digest_of(raw)).status_code == 404
    assert not Attestation.objects.exists()


def test_a_large_one_is_refused_before_it_is_read(at, package, monkeypatch):
    monkeypatch.setattr("apps.oci.blobs.Readable.read", None)
    large = b"x" * (attesting.MAX_BYTES + 1)
    _, answer = oras_attach(at, package, large)
    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert "The attestation has 1,048,577 bytes, expected at most 1,048,576." in said(answer)


def test_a_release_takes_only_so_many(at, package, release, monkeypatch):
    monkeypatch.setattr(attesting, "MAX_PER_RELEASE", 1)
    assert oras_attach(at, package, attestations.bundle(release.digest))[1].status_code == 201
    raw, answer = oras_attach(at, package, attestations.signed(release.digest))
    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert "expected fewer than 1" in said(answer)
    assert at.get(digest_of(raw)).status_code == 404, "nothing of it is stored"


def test_what_is_not_about_a_release_is_stored_as_before(at, package, repo):
    """An SBOM, a signature of cosign 2, an attestation of an image, one for what is not here yet, and of no subject;
    and anything at all in a plain repository.
    """
    junk = b"no attestation"
    others = (
        attached(package, SBOM),
        document(package, junk, layer_type="application/vnd.dev.cosign.simplesigning.v1+json"),
        document(package, junk, layer_type="application/vnd.in-toto+json"),
        document(package + b" ", junk),
        image(junk, layer_type=BUNDLE, artifactType=BUNDLE),
        document(image(), junk),
    )
    for raw in others:
        at.push(raw, "", junk)
    plain = repo("pantry/images")
    plain.push(image(), "1.2.0")
    plain.push(document(image(), junk), "", junk)
    assert not Attestation.objects.exists()


@pytest.mark.both
def test_deleting_the_manifest_removes_the_row(at, package, release, tofu, alice):
    content = attestations.bundle(release.digest)
    raw, _ = oras_attach(at, package, content)
    other, _ = oras_attach(at, package, content, annotations={"second": "push"})

    assert at.delete(digest_of(raw)).status_code == 202
    assert Attestation.objects.get().manifest_digest == digest_of(other), "the other one still attaches it"
    assert at.delete(digest_of(other)).status_code == 202
    assert not Attestation.objects.exists()
    assert tofu(alice).get(URL).json()["attestations"] == []
    assert AuditEvent.objects.filter(kind="namespace:attestation:removed").count() == 1


def test_removing_the_row_removes_what_pushed_it(at, package, release, tofu, olga):
    content = attestations.bundle(release.digest)
    for more in ({}, {"annotations": {"second": "push"}}):
        raw, _ = oras_attach(at, package, content, **more)
    digest = tofu(olga).get(URL).json()["attestations"][0]["digest"]

    assert tofu(olga).delete(f"{URL}/{digest}?reason=Wrong").status_code == 204

    assert not Attestation.objects.exists()
    assert not Manifest.objects.exists()
    assert at.referrers(digest_of(package)).json()["manifests"] == []
    assert at.get(digest_of(raw)).status_code == 404


def test_it_stays_as_long_as_its_release_and_goes_with_it(at, package, release, days_pass, olga):
    content = attestations.bundle(release.digest)
    raw, _ = oras_attach(at, package, content)
    days_pass()
    gc.collect()

    assert at.get(digest_of(raw)).content == raw
    assert at.client.get(f"/v2/{NAME}/blobs/{digest_of(content)}").getvalue() == content
    assert Attestation.objects.count() == 1
    purge(olga, "1.2.0")
    assert not Attestation.objects.exists()
    gc.collect()
    assert at.get(digest_of(raw)).status_code == 404


def test_it_is_attached_to_a_release_that_was_pushed(repo, work):
    at = repo(NAME)
    for data in (b"{}", ZIP):
        at.blob(data)
    at.put(RAW, "1.2.0")
    work()
    assert at.put(RAW, "1.2.0").status_code == 201

    raw, answer = oras_attach(at, RAW, attestations.bundle(digest_of(RAW).removeprefix("sha256:")))

    assert answer.status_code == 201
    assert Attestation.objects.get().manifest_digest == digest_of(raw)
    assert json.loads(raw)["subject"]["digest"] == digest_of(RAW)
