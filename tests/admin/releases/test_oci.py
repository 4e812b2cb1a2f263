"""Lists of OCI pushes in the admin: few queries, searchable, read-only; and two actions."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from apps.artifacts.models import Collection, Manifest, Repository, RepositoryBlob, Tag, UploadSession
from apps.audit.models import AuditEvent
from apps.blobs.models import Blob
from tests.admin.lists import first, list_of, page_of, run
from tests.admin.releases import oci_rows
from tests.oci.uploading import Uploader


def test_lists_read_no_documents_and_the_page_of_a_manifest_does(operator_client):
    oci_rows.make(0, 3)
    with CaptureQueriesContext(connection) as queries:
        operator_client.get(list_of(Manifest))
        operator_client.get(list_of(Tag))
    assert [query["sql"] for query in queries if '"raw"' in query["sql"]] == []
    assert "{&quot;schemaVersion&quot;: 2, &quot;n&quot;: 0}" in operator_client.get(page_of(first(Manifest))).text


def test_an_upload_is_ended_with_what_came_of_it(operator_client, alice, pantry, tofu, stored_files):
    uploader = Uploader(tofu(alice), "pantry/vpc/aws")
    url = uploader.begin()
    uploader.patch(url, b"half of it")
    page = run(operator_client, "end", UploadSession.objects.get())

    assert "Ended: 1." in page.text
    assert (UploadSession.objects.count(), uploader.client.get(url).status_code) == (0, 404)
    event = AuditEvent.objects.get(kind="namespace:upload:ended")
    assert (event.subject, event.detail["size"]) == ("pantry/vpc/aws", 10)


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_garbage_is_collected_at_once(operator_client, alice, pantry, tofu, stored_files):
    uploader = Uploader(tofu(alice), "pantry/vpc/aws")
    uploader.push(b"nobody came back")
    Blob.objects.update(created_at=F("created_at") - timedelta(days=3))
    RepositoryBlob.objects.update(seen_at=F("seen_at") - timedelta(days=3))
    page = run(operator_client, "collect", Repository.objects.get())

    assert "1 blobs with 16 bytes in storage." in page.text
    assert (Blob.objects.count(), stored_files()) == (0, [])
    collection = Collection.objects.get()
    assert (collection.repository_blobs, collection.blobs, collection.bytes, collection.is_complete) == (1, 1, 16, True)
    assert "16" in operator_client.get(list_of(Collection)).text
