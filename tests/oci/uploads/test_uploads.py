"""Pushing a blob in every way that clients know."""

import pytest

from apps.artifacts.models import UploadSession
from apps.blobs.models import Blob, State
from apps.lib.net.bodies import ARRIVED
from tests.oci.manifests.documents import code_of
from tests.oci.uploading import sha256, sha512
from tests.rows import for_each_row

DATA = bytes(range(256)) * 40


def in_one(uploader, data, digest):
    return uploader.post(data, digest)


def post_and_put(uploader, data, digest):
    return uploader.put(uploader.begin(), data, digest)


def streamed(uploader, data, digest):
    url = uploader.begin()
    assert uploader.patch(url, data).status_code == 202
    return uploader.put(url, b"", digest)


def chunked(uploader, data, digest, *, last_in_put=False):
    url, third = uploader.begin(), max(1, len(data) // 3)
    chunks = [(at, data[at : at + third]) for at in range(0, len(data), third)]
    closing = chunks.pop() if last_in_put and chunks else (0, b"")
    for at, chunk in chunks:
        assert uploader.patch(url, chunk, Content_Range=f"{at}-{at + len(chunk) - 1}").status_code == 202
    at, chunk = closing
    more = {"Content_Range": f"{at}-{at + len(chunk) - 1}"} if chunk else {}
    return uploader.put(url, chunk, digest, **more)


def chunked_with_the_last_in_put(uploader, data, digest):
    return chunked(uploader, data, digest, last_in_put=True)


WAYS = [in_one, post_and_put, streamed, chunked, chunked_with_the_last_in_put]
every_way = pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
each_algorithm = pytest.mark.parametrize("digest_of", [sha256, sha512], ids=["sha256", "sha512"])


@every_way
@pytest.mark.parametrize(
    ("data", "digest_of"), [(DATA, sha256), (DATA, sha512), (b"", sha256)], ids=["sha256", "sha512", "nothing"]
)
def test_what_was_pushed_is_served(uploader, stored_files, way, digest_of, data):
    """Case 10: nothing at all, by every way to push."""
    digest = digest_of(data)
    response = way(uploader, data, digest)

    assert response.status_code == 201, response.content
    assert response.headers["Location"] == f"/v2/acme/vpc/aws/blobs/{digest}"
    assert response.headers["Docker-Content-Digest"] == digest
    assert uploader.get(digest).getvalue() == data
    plain = sha256(data).partition(":")[2]
    assert stored_files() == [f"sha256/{plain[:2]}/{plain}"]
    assert UploadSession.objects.count() == 0


@every_way
@each_algorithm
def test_another_digest_is_refused_and_nothing_stays(uploader, stored_files, way, digest_of):
    """Case 8: in every way to push."""
    wrong = digest_of(b"something else")
    response = way(uploader, DATA, wrong)

    assert code_of(response) == (400, "DIGEST_INVALID")
    assert sha256(DATA) in response.json()["errors"][0]["message"]
    assert [uploader.get(digest).status_code for digest in (wrong, digest_of(DATA))] == [404, 404]
    assert (stored_files(), UploadSession.objects.count(), Blob.objects.count()) == ([], 0, 0)


@every_way
def test_what_is_larger_than_a_blob_may_be_is_refused(uploader, settings, stored_files, way):
    settings.OCI_BLOB_MAX_BYTES = 100
    if way in (in_one, post_and_put):
        response = way(uploader, DATA, sha256(DATA))
    else:
        url = uploader.begin()
        assert uploader.patch(url, DATA[:60]).status_code == 202
        response = uploader.patch(url, DATA[60:120]) if way is streamed else uploader.put(url, DATA[60:], sha256(DATA))
        assert uploader.client.get(url).headers["Range"] == "0-59"
        uploader.client.delete(url)

    assert code_of(response) == (413, "SIZE_INVALID")
    assert "oci_blob_max_bytes of LARDER_LIMITS" in response.json()["errors"][0]["message"]
    assert stored_files() == []


@for_each_row("digest", ["", "sha256:baddigeststring", "md5:" + 32 * "0", "sha256:" + 64 * "A", "sha512:" + 64 * "0"])
def test_what_is_no_digest_is_refused_and_the_session_goes_on(uploader, digest):
    url = uploader.begin("?digest-algorithm=sha512")  # a hint that changes nothing

    for response in (uploader.post(DATA, digest), uploader.put(url, DATA, digest), uploader.mount(digest)):
        assert code_of(response) == (400, "DIGEST_INVALID")
    assert uploader.put(url, DATA, sha256(DATA)).status_code == 201


@pytest.mark.both
def test_both_algorithms_find_one_object(uploader, stored_files):
    """Case 9."""
    uploader.push(DATA, sha512(DATA))
    uploader.push(DATA, sha256(DATA))

    blob = Blob.objects.get()
    assert (f"sha256:{blob.digest}", f"sha512:{blob.sha512}") == (sha256(DATA), sha512(DATA))
    assert (blob.state, blob.size, len(stored_files())) == (State.READY, len(DATA), 1)
    for digest in (sha256(DATA), sha512(DATA)):
        assert uploader.head(digest).headers["Docker-Content-Digest"] == digest


@pytest.mark.both
def test_bytes_that_a_release_brought_learn_their_sha512(uploader, published):
    release = published("acme/dns/aws", "1.0.0", data=None)
    blob = Blob.objects.get(digest=release.digest)
    assert blob.sha512 is None
    with_bytes = uploader.client.get(f"/archives/{release.digest}/dns.zip").getvalue()

    uploader.push(with_bytes)
    blob.refresh_from_db()
    assert f"sha512:{blob.sha512}" == sha512(with_bytes)


def test_what_comes_in_several_pieces_is_known_by_the_digest_that_it_was_pushed_by(uploader):
    """sha512 would take longer than all the rest of a large upload."""
    large = DATA * 200
    uploader.push(large)
    assert [uploader.head(digest).status_code for digest in (sha256(large), sha512(large))] == [200, 404]

    uploader.push(large, sha512(large))

    assert [uploader.head(digest).status_code for digest in (sha256(large), sha512(large))] == [200, 200]
    assert Blob.objects.count() == 1


@pytest.mark.both
def test_a_push_writes_few_rows(uploader, django_assert_max_num_queries):
    uploader.push(b"first")
    with django_assert_max_num_queries(4):
        url = uploader.begin()
    with django_assert_max_num_queries(14):  # two of them ask again, after the last byte, whether this may be
        uploader.put(url, DATA, sha256(DATA))
    small, url = b"small", uploader.begin()
    with django_assert_max_num_queries(12):  # its last byte came before the first question
        sent = f"{url}?digest={sha256(small)}", small, "application/octet-stream"
        assert uploader.client.generic("PUT", *sent, **{ARRIVED: True}).status_code == 201
