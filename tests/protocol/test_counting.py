"""One answered GET for the place of an archive is one download (D15)."""

import pytest

from apps.releases.catalogue import downloads
from apps.releases.models import DownloadCount, Fetch

pytestmark = pytest.mark.usefixtures("shelf")

PRIVATE, PUBLIC = "/v1/modules/acme/vpc/aws/1.2.0/download", "/v1/modules/pantry/vpc/aws/1.2.0/download"


@pytest.fixture(autouse=True)
def nothing_noted(monkeypatch):
    """Notes of this test alone: those of the process hold what other tests asked for."""
    notes = downloads.DownloadBuffer()
    monkeypatch.setattr(downloads, "record_download", notes.record_download)
    monkeypatch.setattr(downloads, "flush", notes.flush)


def counted() -> dict[str, int]:
    downloads.flush()
    return {row.client: row.count for row in DownloadCount.objects.order_by("client")}


@pytest.mark.both
def test_an_answered_download_counts_for_its_client_and_its_person(tofu, bob, published):
    release = published("acme/vpc/aws", "1.2.0")
    client = tofu(bob)
    client.get(PRIVATE)
    client.get(PRIVATE, headers={"User-Agent": "Terraform/1.11.4"})

    assert counted() == {"OpenTofu 1.12.6": 1, "Terraform 1.11.4": 1}
    assert [(row.release, row.user, row.count) for row in Fetch.objects.all()] == [(release, bob, 2)]


def test_nobody_is_remembered_where_nobody_said_who_asks_or_only_looks(tofu, browser_of, bob, published):
    published("acme/vpc/aws", "1.2.0")
    published("pantry/vpc/aws", "1.2.0")
    browser_of(bob).get("/modules/acme/vpc/aws/1.2.0/archive")
    assert counted() == {}
    tofu().get(PUBLIC)

    assert counted() == {"OpenTofu 1.12.6": 1}
    assert not Fetch.objects.exists()


@pytest.mark.both
def test_the_same_number_with_other_build_metadata_is_the_same_release(tofu, bob, published):
    published("acme/vpc/aws", "1.3.0+b1")
    client = tofu(bob)
    for asked in ("1.3.0", "1.3.0+b1", "1.3.0+b2"):
        assert client.get(PRIVATE.replace("1.2.0", asked)).status_code == 200

    assert counted() == {"OpenTofu 1.12.6": 3}


def test_what_fetches_nothing_does_not_count(tofu, bob, charlie, published):
    published("acme/vpc/aws", "1.2.0")
    client = tofu(bob)
    location = client.get(PRIVATE).headers["X-Terraform-Get"]
    answers = [
        client.head(PRIVATE),
        client.post(PRIVATE),
        client.get(PRIVATE.replace("1.2.0", "9.9.9")),
        client.get(PRIVATE.replace("1.2.0/download", "versions")),
        tofu(charlie).get(PRIVATE),
        tofu().get(PRIVATE),
        client.head(location),
        client.get(location),
    ]

    assert answers[-1].getvalue()
    assert [answer.status_code for answer in answers] == [200, 405, 404, 200, 404, 401, 200, 200]
    assert counted() == {"OpenTofu 1.12.6": 1}


def test_the_request_itself_writes_nothing(tofu, bob, published, django_assert_num_queries):
    published("acme/vpc/aws", "1.2.0")
    client = tofu(bob)
    with django_assert_num_queries(3) as queries:  # token, gate, release
        client.get(PRIVATE)

    assert all(query["sql"].startswith("SELECT") for query in queries.captured_queries)
