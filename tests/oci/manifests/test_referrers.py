"""end-12: GET /v2/<name>/referrers/<digest>"""

import json

import pytest

from apps.artifacts import attachments
from apps.artifacts.models import Manifest, Repository
from tests.oci.manifests.documents import INDEX, SBOM, attached, digest_of, image, index, pages
from tests.rows import for_each_row

SIGNATURE = "application/vnd.dev.sigstore.bundle.v0.3+json"
NOTHING = {"schemaVersion": 2, "mediaType": INDEX, "manifests": []}
SUBJECT = digest_of(image())


def listed(answer):
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == INDEX
    return [one["digest"] for one in answer.json()["manifests"]]


@pytest.fixture
def several(repo):
    """An SBOM, a signature, an index, and one by its config's media type."""
    at = repo()
    at.push(image(), "main")
    subject = json.loads(attached(image()))["subject"]
    at.push(attached(image(), annotations={"org.opencontainers.image.created": "2026-01-01", "ü": "é"}))
    at.push(attached(image(), SIGNATURE))
    at.push(index(image(), subject=subject))
    at.push(image(subject=subject))
    return at


@pytest.mark.both
def test_the_index_is_frozen(several, golden):
    answer = several.referrers(SUBJECT)

    assert answer.content == golden("oci/referrers.json")
    assert answer.headers["Content-Type"] == INDEX
    assert "OCI-Filters-Applied" not in answer.headers
    assert "Link" not in answer.headers


def test_a_filter_is_applied_and_said_so(several):
    answer = several.referrers(SUBJECT, f"?artifactType={SIGNATURE.replace('+', '%2B')}")
    assert listed(answer) == [digest_of(attached(image(), SIGNATURE))]
    none = several.referrers(SUBJECT, "?artifactType=text/none")
    assert none.json() == NOTHING
    assert answer.headers["OCI-Filters-Applied"] == none.headers["OCI-Filters-Applied"] == "artifactType"


def test_whatever_is_unknown_or_elsewhere_has_nothing_attached(repo, several):
    assert several.referrers("sha256:" + "0" * 64).json() == NOTHING
    assert several.referrers("sha512:" + "0" * 128).json() == NOTHING
    repo("pantry/dns/aws").push(image(), "main")
    for name in ("pantry/dns/aws", "pantry/nobody/pushed"):  # oras asks so before it deletes
        empty = repo(name).referrers(SUBJECT)
        assert (empty.status_code, empty.json()) == (200, NOTHING)
    assert not Repository.objects.filter(path="nobody/pushed").exists()


@pytest.mark.both
def test_many_come_in_pages(several):
    row = Repository.objects.get()
    Manifest.objects.bulk_create(
        Manifest(repository=row, digest=f"sha256:{number:064x}", media_type=INDEX, subject=SUBJECT, size=1, raw=b"x",
                 artifact_type=SBOM)
        for number in range(attachments.MAX_DESCRIPTORS + 5)
    )  # fmt: skip
    url = f"/v2/pantry/vpc/aws/referrers/{SUBJECT}"

    found = [listed(page) for page in pages(several.client, url)]
    assert [len(page) for page in found] == [1000, 9]
    assert len({digest for page in found for digest in page}) == 1009

    filtered = list(pages(several.client, f"{url}?artifactType={SBOM.replace('+', '%2B')}"))
    assert [len(listed(page)) for page in filtered] == [1000, 6]
    assert "artifactType=application%2Fvnd.cyclonedx%2Bjson&last=" in filtered[0].headers["Link"]


def test_large_ones_come_in_pages_that_clients_can_read(repo):
    at = repo()
    at.blob(b"{}")
    pushed = []
    for number in range(3):
        raw = attached(image(), annotations={"large": str(number) * 1_900_000})
        assert at.put(raw).status_code == 201
        pushed.append(digest_of(raw))

    found = [listed(page) for page in pages(at.client, f"/v2/pantry/vpc/aws/referrers/{SUBJECT}")]
    assert found == [pushed[:2], pushed[2:]]
    assert len(at.referrers(SUBJECT).content) < attachments.MAX_BYTES


@for_each_row("last", ["-1", "abc", "9" * 30, "r", "r-1", "rx", "r" + "9" * 30, "rr1"])
def test_a_hostile_page_is_refused(several, last):
    assert several.referrers(SUBJECT, f"?last={last}").status_code == 400


def test_the_list_costs_the_same_at_any_length(several, django_assert_num_queries):
    with django_assert_num_queries(5):  # token, gate, which of them, what they say, what Larder attaches
        several.referrers(SUBJECT)
