"""Reading blobs: byte for byte, whole or one range, to those who see the repository."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Scope
from apps.artifacts.models import RepositoryBlob
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from tests.oci.manifests.documents import code_of
from tests.oci.uploading import sha256, sha512
from tests.rows import for_each_row

DATA = b"<script>alert('a layer')</script>" * 50
DIGEST = sha256(DATA)
PUBLIC = "pantry/vpc/aws"


@pytest.fixture
def kept(uploader):
    uploader.push(DATA)
    return uploader


@for_each_row("digest", [DIGEST, sha512(DATA)], ids=["sha256", "sha512"])
def test_get_and_head_say_the_same_and_a_browser_shows_no_blob(kept, digest):
    got, head = kept.get(digest, Accept_Encoding="gzip, br"), kept.head(digest)

    assert (got.status_code, head.status_code) == (200, 200)
    assert (got.getvalue(), head.content) == (DATA, b"")
    for response in (got, head):
        assert response.headers["Content-Length"] == str(len(DATA))
        assert response.headers["Docker-Content-Digest"] == digest
        assert response.headers["ETag"] == f'"{digest}"'
        assert response.headers["Accept-Ranges"] == "bytes"
        assert response.headers["Content-Type"] == "application/octet-stream"
        assert response.headers["Content-Disposition"] == "attachment"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "Content-Encoding" not in response.headers
    assert kept.get(digest.replace(":", "%3A")).getvalue() == DATA


def test_a_range_is_206_and_one_of_no_byte_is_416_in_this_dialect(kept):
    part = kept.get(DIGEST, Range="bytes=5-14")
    assert (part.status_code, part.getvalue()) == (206, DATA[5:15])
    assert part.headers["Content-Range"] == f"bytes 5-14/{len(DATA)}"
    assert part.headers["Docker-Content-Digest"] == DIGEST

    behind = kept.get(DIGEST, Range="bytes=99999-")
    assert code_of(behind) == (416, "SIZE_INVALID")
    assert behind.headers["Content-Range"] == f"bytes */{len(DATA)}"


@for_each_row("digest", ["sha256:totallywrong", "sha256:" + 64 * "F", "md5:" + 32 * "0", "latest"])
def test_what_is_no_digest_is_refused(kept, digest):
    for response in (kept.get(digest), kept.delete(digest)):
        assert code_of(response) == (400, "DIGEST_INVALID")


def test_a_digest_opens_nothing_in_another_repository(kept, uploader_of, alice):
    """Case 11: not even to those who may read it where it is: the right belongs to the repository."""
    other = uploader_of(alice, name=PUBLIC)
    assert other.get(DIGEST).status_code == 404
    other.push(b"its own")

    for response in (other.get(DIGEST), other.get(sha512(DATA)), other.delete(DIGEST)):
        assert code_of(response) == (404, "BLOB_UNKNOWN")
    assert other.head(DIGEST).status_code == 404


def test_the_archive_of_a_release_is_a_blob_of_its_module(published, uploader, uploader_of, bob):
    digest = f"sha256:{published('acme/vpc/aws', '1.2.0').digest}"
    data = uploader_of(bob).get(digest).getvalue()

    assert sha256(data) == digest
    assert uploader_of(bob).head(digest).headers["Content-Length"] == str(len(data))
    assert uploader_of(bob, name="acme/other/aws").get(digest).status_code == 404
    assert RepositoryBlob.objects.count() == 0
    uploader.push(data)
    assert uploader_of(bob).get(sha512(data)).getvalue() == data


@pytest.mark.both
def test_quarantine_stops_pushed_copies_too(published, uploader, olga):
    release = published("acme/vpc/aws", "1.2.0")
    digest = f"sha256:{release.digest}"
    data = uploader.get(digest).getvalue()
    uploader.push(data)
    address = ModuleAddress.parse("acme/vpc/aws")
    lifecycle.quarantine(viewer=Viewer(olga), address=address, version="1.2.0", reason="a stolen key in it")

    assert [uploader.get(asked).status_code for asked in (digest, sha512(data))] == [404, 404]
    assert code_of(uploader.delete(digest)) == (404, "BLOB_UNKNOWN")


def test_a_pull_writes_nothing_and_asks_little(kept, uploader_of, bob, django_assert_max_num_queries):
    RepositoryBlob.objects.update(seen_at=timezone.now() - timedelta(days=2))
    before = RepositoryBlob.objects.get().seen_at
    reader = uploader_of(bob)
    with django_assert_max_num_queries(3):
        reader.get(DIGEST).getvalue()
    assert reader.head(DIGEST).status_code == kept.get(DIGEST).status_code == 200
    assert RepositoryBlob.objects.get().seen_at == before


@pytest.mark.both
def test_head_by_who_may_push_is_remembered_once_an_hour(kept, uploader_of, alice, django_assert_max_num_queries):
    now = timezone.now()
    for old, is_touched in ((timedelta(minutes=50), False), (timedelta(minutes=70), True)):
        RepositoryBlob.objects.update(seen_at=now - old)
        uploader_of(alice, Scope.READ).head(DIGEST)
        assert RepositoryBlob.objects.get().seen_at == now - old
        kept.head(DIGEST)
        assert (RepositoryBlob.objects.get().seen_at >= now) is is_touched
    with django_assert_max_num_queries(3):
        kept.head(DIGEST)
