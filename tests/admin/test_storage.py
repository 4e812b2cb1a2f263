"""/admin/storage/: who uses the storage."""

import pytest
from django.urls import reverse

from apps.accounts.models import Namespace
from apps.artifacts.models import RepositoryBlob
from apps.blobs import backends
from apps.blobs.backends import StorageUnavailable
from apps.blobs.models import Blob
from apps.releases.models import Release
from apps.releases.publishing import quotas
from registry_site.admin import storage
from tests import pages
from tests.admin import rows
from tests.admin.lists import list_of
from tests.admin.releases import oci_rows, provider_rows


@pytest.fixture
def stored(db):
    for shelf in (rows, provider_rows, oci_rows):
        shelf.make(0, 3)
    Release.objects.filter(namespace__name="team1").update(size=700)
    Release.objects.filter(namespace__name="team2").update(state="purged", size=9_000)
    Blob.objects.filter(repository_blobs__repository__namespace__name="depot1").update(size=800)


def ranked(title):
    return [(row["name"], row["stored"]) for row in storage.ranking()[title]]


@pytest.mark.both
def test_the_largest_come_first_and_what_was_pushed_counts_once_as_in_quotas(stored):
    assert ranked("Kind") == [("Pushed over OCI, beside releases", 820), ("Modules", 710), ("Providers", 30)]
    assert ranked("Namespace")[:3] == [("depot1", 800), ("team1", 700), ("depot0", 10)]
    assert "team2" not in dict(ranked("Namespace")), "a purged version has no bytes"
    title = "Module, provider or OCI repository"
    assert ranked(title)[:3] == [
        ("depot1/crate/aws over OCI", 800),
        ("team1/vpc/aws", 700),
        ("depot0/crate/aws over OCI", 10),
    ]
    assert ("kitchen0/cloud", 10) in ranked(title)

    space = Namespace.objects.get(name="team1")
    blob = Blob.objects.create(digest=Release.objects.get(namespace=space).digest, size=700, state="ready")
    RepositoryBlob.objects.create(repository=space.repositories.create(path="vpc/aws"), blob=blob)
    assert dict(ranked("Namespace"))["team1"] == 700 == quotas.usage(space).bytes


def test_a_page_shows_them_with_links_in_few_queries(operator_client, stored):
    url = reverse("admin:storage")
    page = operator_client.get(url)

    assert f'href="{reverse("portal:namespace-usage", args=["team1"])}"' in page.text
    assert f'href="{list_of(Release, q="team1/vpc/aws")}"' in page.text
    assert "700 bytes" in page.text
    assert any(one["admin_url"] == url for group in page.context["available_apps"] for one in group["models"])
    few = pages.queries_of(operator_client, url)
    rows.make(3, 60)
    assert pages.queries_of(operator_client, url) == few
    assert len(operator_client.get(url).context["tables"]["Namespace"]) == storage.SHOWN


def test_it_begins_with_the_total_and_the_free_space_and_stays_if_storage_is_down(operator_client, stored, monkeypatch):
    monkeypatch.setattr(backends.current(), "free_bytes", lambda: 50_000_000)
    Blob.objects.update(size=0)
    Blob.objects.filter(repository_blobs__repository__namespace__name="depot1").update(size=800)
    page = " ".join(operator_client.get(reverse("admin:storage")).text.split())
    assert f"<strong>800 bytes</strong> in {Blob.objects.count()} files, 50 MB free." in page

    def down():
        raise StorageUnavailable("It does not answer.")

    monkeypatch.setattr(backends.current(), "free_bytes", down)
    page = operator_client.get(reverse("admin:storage"))
    assert page.status_code == 200
    assert " free" not in page.text.partition("The 50 largest")[0].partition('id="content-main"')[2]
