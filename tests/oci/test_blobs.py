"""Reading blobs: byte for byte, whole or one range, to those who see the repository."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Scope
from apps.artifacts.models import RepositoryBlob
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from tests.oci.uploading import code_of, sha256, sha512
from tests.rows import for_each_row

pytestmark = pytest.mark.both

DATA = b"<script>alert('a layer')</script>" * 50
DIGEST = sha256(DATA)
PUBLIC = "pantry/vpc/aws"


@pytest.fixture
def kept(uploader):
    uploader.push(DATA)
    return uploader


@for_each_row("digest", [DIGEST, sha512(DATA)], ids=["sha256", "sha512"])
def test_get_and_head_say_the_same(kept, digest):
    got, head = kept.get(digest, Accept_Encoding="gzip, br"), kept.head(digest)

    assert (got.status_code, head.status_code) == (200, 200)
    assert (got.getvalue(), head.content) == (DATA, b"")
    for response in (got, head):
        assert response.headers["Content-Length"] == str(len(DATA))
        assert response.headers["Docker-Content-Digest"] == digest
        assert response.headers["ETag"] == f'"{digest}"'
        assert response.headers["Accept-Ranges"] == "bytes"
        assert "Content-Encoding" not in response.headers


def test_a_browser_shows_no_blob(kept):
    headers = kept.get(DIGEST).headers
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == "attachment"
    assert headers["X-Content-Type-Options"] == "nosniff"


@for_each_row(("asked", "part"), [("bytes=0-0", slice(1)), ("bytes=5-14", slice(5, 15)), ("bytes=-9", slice(-9, None))])
def test_one_range_is_206(kept, asked, part):
    response = kept.get(DIGEST, Range=asked)
    start, stop, _ = part.indices(len(DATA))

    assert (response.status_code, response.getvalue()) == (206, DATA[part])
    assert response.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{len(DATA)}"
    assert response.headers["Docker-Content-Digest"] == DIGEST


@for_each_row("asked", ["bytes=-0", "bytes=99999-"])
def test_a_range_of_no_byte_is_416_in_this_dialect(kept, asked):
    response = kept.get(DIGEST, Range=asked)

    assert (response.status_code, response.headers["Content-Range"]) == (416, f"bytes */{len(DATA)}")
    assert code_of(response) == "SIZE_INVALID"


@for_each_row("digest", ["sha256:totallywrong", "sha256:" + 64 * "F", "md5:" + 32 * "0", "latest"])
def test_what_is_no_digest_is_refused(kept, digest):
    for response in (kept.get(digest), kept.delete(digest)):
        assert (response.status_code, code_of(response)) == (400, "DIGEST_INVALID")


def test_a_colon_may_be_encoded(kept):
    assert kept.get(DIGEST.replace(":", "%3A")).getvalue() == DATA


def test_an_unknown_blob_is_404(kept):
    for digest in (sha256(b"other"), sha512(b"other")):
        response = kept.get(digest)
        assert (response.status_code, code_of(response)) == (404, "BLOB_UNKNOWN")


def test_nobody_reads_what_is_public(uploader_of, alice):
    uploader_of(alice, name=PUBLIC).push(DATA)
    assert uploader_of(None, name=PUBLIC).get(DIGEST).getvalue() == DATA


def test_a_digest_opens_nothing_in_another_repository(kept, uploader_of, alice):
    """Case 11: not even to those who may read it where it is: the right belongs to the repository."""
    other = uploader_of(alice, name=PUBLIC)
    assert other.get(DIGEST).status_code == 404
    other.push(b"its own")

    for response in (other.get(DIGEST), other.get(sha512(DATA)), other.delete(DIGEST)):
        assert (response.status_code, code_of(response)) == (404, "BLOB_UNKNOWN")
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


def test_quarantine_stops_pushed_copies_too(published, uploader, olga):
    release = published("acme/vpc/aws", "1.2.0")
    digest = f"sha256:{release.digest}"
    data = uploader.get(digest).getvalue()
    uploader.push(data)
    address = ModuleAddress.parse("acme/vpc/aws")
    lifecycle.quarantine(viewer=Viewer(olga), address=address, version="1.2.0", reason="a stolen key in it")

    assert [uploader.get(asked).status_code for asked in (digest, sha512(data))] == [404, 404]


def test_a_pull_writes_nothing_and_asks_little(kept, uploader_of, bob, django_assert_max_num_queries):
    RepositoryBlob.objects.update(seen_at=timezone.now() - timedelta(days=2))
    before = RepositoryBlob.objects.get().seen_at
    reader = uploader_of(bob)
    with django_assert_max_num_queries(3):
        reader.get(DIGEST).getvalue()
    assert reader.head(DIGEST).status_code == kept.get(DIGEST).status_code == 200
    assert RepositoryBlob.objects.get().seen_at == before


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
