"""Chunks: in their order, once, and whole; whatever else comes leaves the upload as it was."""

import io
from datetime import timedelta
from itertools import product

import pytest
from django.utils import timezone

from apps.artifacts import chunked
from apps.artifacts.models import UploadSession
from tests.oci.manifests.documents import code_of
from tests.oci.uploading import sha256, sha512
from tests.rows import for_each_row

DATA = b"0123456789" * 30
FIRST, SECOND, THIRD = DATA[:100], DATA[100:200], DATA[200:]


@pytest.fixture
def url(uploader):
    """An upload that has the first chunk."""
    url = uploader.begin()
    response = uploader.patch(url, FIRST, Content_Range="0-99")
    assert (response.status_code, response.headers["Range"], response.headers["Location"]) == (202, "0-99", url)
    return url


def goes_on(uploader, url):
    """The upload still has its first chunk, and can be finished."""
    status = uploader.client.get(url)
    assert (status.status_code, status.headers["Range"], status.headers["Location"]) == (204, "0-99", url)
    assert uploader.client.get(f"{url}?digest={sha256(DATA)}").status_code == 204
    assert uploader.patch(url, SECOND, Content_Range="100-199").status_code == 202
    assert uploader.put(url, THIRD, sha256(DATA), Content_Range="200-299").status_code == 201
    assert uploader.get(sha256(DATA)).getvalue() == DATA


def test_a_chunk_out_of_order_is_416_and_the_upload_goes_on(uploader, url):
    """Case 3 and Case 4: repeated, too far on or overlapping, by PATCH or by the closing PUT."""
    for chunk, range_ in ((FIRST, "0-99"), (THIRD, "200-299"), (SECOND, "50-149")):
        for response in (
            uploader.patch(url, chunk, Content_Range=range_),
            uploader.put(url, chunk, sha256(DATA), Content_Range=range_),
        ):
            assert code_of(response) == (416, "BLOB_UPLOAD_INVALID"), range_
            assert (response.headers["Range"], response.headers["Location"]) == ("0-99", url)
    goes_on(uploader, url)


def test_the_first_chunk_begins_at_nought(uploader):
    url = uploader.begin()
    response = uploader.patch(url, SECOND, Content_Range="100-199")

    assert (response.status_code, response.headers["Range"]) == (416, "0-0")
    assert uploader.put(url, SECOND, sha256(SECOND), Content_Range="100-199").status_code == 416
    assert uploader.patch(url, FIRST, Content_Range="0-99").status_code == 202


def test_a_range_that_is_not_the_body_s_is_refused_and_the_upload_goes_on(uploader, url, stored_files):
    """Case 4."""
    before = stored_files()
    for range_ in ("100-150", "100-250", "x-y", "100-", "150-100", "0", "-1-5", "1" * 40 + "-5"):
        for response in (
            uploader.patch(url, SECOND, Content_Range=range_),
            uploader.put(url, SECOND, sha256(FIRST + SECOND), Content_Range=range_),
        ):
            assert code_of(response) == (400, "BLOB_UPLOAD_INVALID"), range_
    assert stored_files() == before
    goes_on(uploader, url)


@for_each_row("range_", ["bytes 100-199/300", "bytes=100-199", "100-199/*"])
def test_a_range_as_http_writes_it_is_understood(uploader, url, range_):
    assert uploader.patch(url, SECOND, Content_Range=range_).status_code == 202


def test_a_body_that_breaks_off_leaves_the_upload_as_it_was(uploader, url, stored_files):
    before = stored_files()
    for method, promised in product(("PATCH", "PUT"), ("1000", "17")):  # the body has too few bytes, or too many
        lying = {"wsgi.input": io.BytesIO(SECOND), "wsgi.input_terminated": True, "CONTENT_LENGTH": promised}
        response = uploader.client.generic(method, f"{url}?digest={sha256(DATA)}", **lying)
        assert response.status_code == 400, (method, promised)
    assert stored_files() == before
    goes_on(uploader, url)


def test_a_chunk_without_a_length_is_read_to_its_end(uploader):
    """Case 1: Transfer-Encoding: chunked, as servers hand it on. Django's own reading would find nothing."""
    url, large = uploader.begin(), DATA * 5_000
    body = {"wsgi.input": io.BytesIO(large), "wsgi.input_terminated": True, "CONTENT_LENGTH": ""}
    response = uploader.client.generic("PATCH", url, **body)

    assert response.headers["Range"] == f"0-{len(large) - 1}"
    assert uploader.put(url, b"", sha512(large)).status_code == 201
    assert uploader.head(sha256(large)).headers["Content-Length"] == str(len(large))


def test_an_empty_chunk_changes_nothing(uploader, url, stored_files):
    before = stored_files()
    for headers in ({}, {"Content_Range": "100-99"}, {"Content_Range": "100-100"}):
        response = uploader.patch(url, b"", **headers)
        assert (response.status_code, response.headers["Range"]) == (202, "0-99")
    assert stored_files() == before
    goes_on(uploader, url)


@pytest.mark.both
def test_a_chunk_that_meets_another_is_told_when_to_come_again(uploader, url):
    """The other request holds the lease; one that died has lost it after a minute."""
    session = UploadSession.objects.get()
    UploadSession.objects.update(lease=session.pk, lease_until=timezone.now() + timedelta(seconds=50))
    busy = uploader.patch(url, SECOND)
    assert busy.status_code == 503
    assert 40 < int(busy.headers["Retry-After"]) <= 50
    assert uploader.patch(url, SECOND, Content_Range="7-9").status_code == 416

    UploadSession.objects.update(lease_until="2026-01-01T00:00:00Z")
    goes_on(uploader, url)


@pytest.mark.both
def test_many_chunks_are_joined_in_their_order(uploader, stored_files):
    url = uploader.begin()
    for at in range(0, len(DATA), 25):
        assert uploader.patch(url, DATA[at : at + 25]).status_code == 202
    assert uploader.put(url, b"", sha256(DATA)).status_code == 201

    assert uploader.get(sha256(DATA)).getvalue() == DATA
    assert len(stored_files()) == 1


def test_only_object_storage_asks_for_large_chunks(uploader, settings):
    url = uploader.begin()
    assert "OCI-Chunk-Min-Length" not in uploader.client.get(url).headers

    settings.STORAGE_URL = "s3://bucket"
    assert uploader.client.get(url).headers["OCI-Chunk-Min-Length"] == str(5 * 1024 * 1024)


def test_a_lease_that_is_given_back_at_this_moment_is_taken(uploader, url, monkeypatch):
    """It was held when this request asked for it, and free when the request looked who holds it."""
    session = UploadSession.objects.get()
    UploadSession.objects.update(lease=session.pk, lease_until=timezone.now() + timedelta(seconds=50))
    look = chunked._standing_of

    def given_back(rows):
        UploadSession.objects.update(lease=None, lease_until=None)
        return look(rows)

    monkeypatch.setattr(chunked, "_standing_of", given_back)

    assert uploader.patch(url, SECOND, Content_Range="100-199").status_code == 202
