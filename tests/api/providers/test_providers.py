"""Publishing a provider file by file (D24)."""

from apps.audit.models import AuditEvent
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Release, ReleaseFile
from tests.api.providers.conftest import sha256
from tests.builders import providers
from tests.providers.draft_client import (
    DARWIN,
    LINUX,
    MANIFEST,
    SIGNATURE,
    STEM,
    SUMS,
    URL,
    DraftClient,
    body,
    dist,
    signed,
    work,
    zips,
)
from tests.rows import for_each_row


def test_a_publisher_signed_version_leaves_exactly_this(draft_client, registered, stored_files):
    files = signed(dist())
    document = draft_client.publish(files)
    version = ProviderVersion.objects.select_related("release", "key").get()

    assert (document["state"], document["signing"], document["protocols"]) == ("published", "publisher", ["5.0"])
    assert document["platforms"] == ["darwin_arm64", "linux_amd64"]
    assert document["digest"] == f"sha256:{sha256(files[SUMS])}"
    assert document["size"] == len(files[LINUX]) + len(files[DARWIN])
    assert (version.key.pk, version.signing, version.protocols) == (registered.pk, "publisher", ["5.0"])
    assert (version.sums_digest, version.signature_digest) == (sha256(files[SUMS]), sha256(files[SIGNATURE]))
    assert list(Package.objects.order_by("os").values_list("filename", "os", "arch", "digest", "size")) == [
        (DARWIN, "darwin", "arm64", sha256(files[DARWIN]), len(files[DARWIN])),
        (LINUX, "linux", "amd64", sha256(files[LINUX]), len(files[LINUX])),
    ]
    assert all(h1.startswith("h1:") for h1 in Package.objects.values_list("h1", flat=True))
    blobs = [sha256(files[name]) for name in (LINUX, DARWIN, SUMS, SIGNATURE)]
    kinds = list(AuditEvent.objects.filter(subject="acme/dns 1.2.0").order_by("pk").values_list("kind", flat=True))
    assert kinds == [
        "namespace:release:reserved",
        *["namespace:release:file-received"] * 5,
        "namespace:release:received",
        "namespace:release:published",
    ]
    assert stored_files() == sorted(
        ["ledger/provider/acme/dns/1.2.0.json", *(f"sha256/{digest[:2]}/{digest}" for digest in blobs)]
    )


def test_a_registry_signed_version_has_canonical_sums_and_a_signature_that_verifies(draft_client, held, stored_files):
    files = zips()
    document = draft_client.publish(files, protocols=["6.0", "5.0"])
    version = ProviderVersion.objects.get()
    sums = b"".join(f"{sha256(data)}  {name}\n".encode() for name, data in sorted(files.items()))

    assert (document["state"], document["signing"], document["protocols"]) == ("published", "registry", ["5.0", "6.0"])
    assert [step["name"] for step in document["steps"]] == ["received", "checked", "signed", "published"]
    assert {step["state"] for step in document["steps"]} == {"done"}
    assert sorted(step["at"] for step in document["steps"]) == [step["at"] for step in document["steps"]]
    assert (version.key_id, version.signing) == (held.pk, "registry")
    assert version.sums_digest == sha256(sums)
    assert not [name for name in stored_files() if name.startswith("staging/")]
    assert f"sha256/{version.signature_digest[:2]}/{version.signature_digest}" in stored_files()


def test_the_same_person_gets_the_same_draft_and_others_a_conflict_whatever_they_do(draft_client, tofu, dora):
    other = DraftClient(tofu(dora))
    first, again = draft_client.open(), draft_client.open(protocols=["6.0"])
    draft_client.put(LINUX, zips()[LINUX])
    others = [other.open(), other.put(DARWIN, zips()[DARWIN]), other.delete(LINUX), other.hand_in()]

    assert (first.status_code, again.status_code) == (201, 200)
    assert body(first)["id"] == body(again)["id"]
    assert body(again)["protocols"] == ["6.0"]
    assert [answer.status_code for answer in others] == [409] * 4
    assert "someone else" in body(others[0])["error"]["message"]
    assert ReleaseFile.objects.count() == 1


@for_each_row(
    ("wanted", "status"),
    [
        ({"protocols": "5.0"}, 422),
        ({"protocols": ["five"]}, 422),
        ({"protocols": ["4.0"]}, 422),
        ({"platforms": []}, 422),
        ({"protocols": []}, 201),
        ({"protocols": ["5.0", "6.7"]}, 201),
    ],
)
def test_the_json_of_a_draft_is_checked(draft_client, wanted, status):
    assert draft_client.open(**wanted).status_code == status


@for_each_row(
    ("path", "status"), [("acme/terraform-dns/1.0.0", 422), ("acme/dns/v1.0.0", 422), ("acmx/dns/1.0.0", 404)]
)
def test_a_draft_needs_an_address_that_clients_take(tofu, alice, path, status):
    assert DraftClient(tofu(alice), f"/api/v1/providers/{path}").open().status_code == status
    assert not Release.objects.exists()


def test_a_draft_says_what_it_understood_and_what_is_missing(draft_client, registered):
    response = draft_client.open()
    document = body(response)
    assert response.headers["Location"] == f"/api/v1/releases/{document['id']}"
    assert (document["kind"], document["name"], document["state"]) == ("provider", "dns", "receiving")
    assert (document["files"], document["protocols"]) == ([], [])

    files = signed(dist())
    seen = [[reason["code"] for reason in document["missing"]]]
    for name in (LINUX, SUMS, SIGNATURE, MANIFEST):
        draft_client.put(name, files[name])
        document = draft_client.get()
        seen.append([reason["code"] for reason in document["missing"]])
        assert document["signing"] == ("publisher" if name in (SIGNATURE, MANIFEST) else "registry")

    assert seen == [
        ["no_packages", "not_signed", "protocols_unknown"],
        ["not_signed", "protocols_unknown"],
        ["not_signed", "protocols_unknown"],
        ["protocols_unknown"],
        [],
    ]
    assert document["platforms"] == ["linux_amd64"]
    assert {file["name"]: file["role"] for file in document["files"]} == {
        LINUX: "package",
        SUMS: "sums",
        SIGNATURE: "signature",
        MANIFEST: "manifest",
    }


def test_a_draft_without_packages_cannot_be_handed_in_and_stays_a_draft(draft_client):
    draft_client.open()
    draft_client.put(MANIFEST, providers.manifest("5.0"))
    response = draft_client.hand_in()

    assert response.status_code == 422
    assert f"{STEM}_<os>_<arch>.zip" in body(response)["error"]["message"]
    assert draft_client.get()["state"] == "receiving"


def test_who_does_it_all_again_with_the_same_bytes_hears_200(draft_client, registered):
    files = signed(dist())
    first = draft_client.publish(files)
    again = [
        draft_client.open(),
        *(draft_client.put(name, data) for name, data in files.items()),
        draft_client.hand_in(),
    ]

    assert [answer.status_code for answer in again] == [200] * 7
    assert body(again[-1])["id"] == first["id"]
    assert Release.objects.count() == 1


def test_a_published_version_is_frozen_and_a_refusal_names_both_digests(draft_client, registered, untouchable):
    files = signed(dist())
    draft_client.publish(files)
    response = draft_client.put(LINUX, b"other")

    assert response.status_code == 409
    assert sha256(files[LINUX]) in body(response)["error"]["message"]
    assert sha256(b"other") in body(response)["error"]["message"]
    assert draft_client.client.put(f"{URL}/files/{STEM}_linux_386.zip", **untouchable).status_code == 409
    assert draft_client.delete(LINUX).status_code == 409
    assert Package.objects.count() == 2


def test_what_is_handed_in_takes_no_more_files_and_readers_see_it_when_it_is_published(
    draft_client, tofu, bob, registered
):
    files = signed(dist())
    draft_client.open()
    for name, data in files.items():
        draft_client.put(name, data)
    assert draft_client.hand_in().status_code == 202
    assert (draft_client.put(LINUX, files[LINUX]).status_code, draft_client.put(LINUX, b"x").status_code) == (200, 409)
    assert draft_client.hand_in().status_code == 202
    assert tofu(bob).get(URL).status_code == 404
    work()
    assert draft_client.get()["state"] == "published"
    assert tofu(bob).get(URL).json()["platforms"] == ["darwin_arm64", "linux_amd64"]
