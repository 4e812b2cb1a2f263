"""Pushing a blob in every way that clients know."""

import pytest

from apps.blobs.models import Blob, State
from apps.oci.models import Repository, UploadSession
from tests.oci.pushing import code_of, sha256, sha512

DATA = bytes(range(256)) * 40


def in_one(pusher, data, digest):
    return pusher.post(data, digest)


def post_and_put(pusher, data, digest):
    return pusher.put(pusher.begin(), data, digest)


def streamed(pusher, data, digest):
    url = pusher.begin()
    assert pusher.patch(url, data).status_code == 202
    return pusher.put(url, b"", digest)


def chunked(pusher, data, digest, *, last_in_put=False):
    url, third = pusher.begin(), max(1, len(data) // 3)
    chunks = [(at, data[at : at + third]) for at in range(0, len(data), third)]
    closing = chunks.pop() if last_in_put and chunks else (0, b"")
    for at, chunk in chunks:
        assert pusher.patch(url, chunk, Content_Range=f"{at}-{at + len(chunk) - 1}").status_code == 202
    at, chunk = closing
    more = {"Content_Range": f"{at}-{at + len(chunk) - 1}"} if chunk else {}
    return pusher.put(url, chunk, digest, **more)


def chunked_with_the_last_in_put(pusher, data, digest):
    return chunked(pusher, data, digest, last_in_put=True)


WAYS = [in_one, post_and_put, streamed, chunked, chunked_with_the_last_in_put]
every_way = pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
each_algorithm = pytest.mark.parametrize("digest_of", [sha256, sha512], ids=["sha256", "sha512"])


@every_way
@each_algorithm
@pytest.mark.parametrize("data", [DATA, b"{}", b""], ids=["ten-kilobytes", "braces", "nothing"])
def test_what_was_pushed_is_served(pusher, stored_files, way, digest_of, data):
    digest = digest_of(data)
    response = way(pusher, data, digest)

    assert response.status_code == 201, response.content
    assert response.headers["Location"] == f"/v2/acme/vpc/aws/blobs/{digest}"
    assert response.headers["Docker-Content-Digest"] == digest
    assert pusher.get(digest).getvalue() == data
    plain = sha256(data).partition(":")[2]
    assert stored_files() == [f"sha256/{plain[:2]}/{plain}"]
    assert UploadSession.objects.count() == 0


@every_way
@each_algorithm
def test_another_digest_is_refused_and_nothing_stays(pusher, stored_files, way, digest_of):
    wrong = digest_of(b"something else")
    response = way(pusher, DATA, wrong)

    assert (response.status_code, code_of(response)) == (400, "DIGEST_INVALID")
    assert sha256(DATA) in response.json()["errors"][0]["message"]
    assert [pusher.get(digest).status_code for digest in (wrong, digest_of(DATA))] == [404, 404]
    assert (stored_files(), UploadSession.objects.count(), Blob.objects.count()) == ([], 0, 0)


@every_way
def test_what_is_larger_than_a_blob_may_be_is_refused(pusher, settings, stored_files, way):
    settings.OCI_BLOB_MAX_BYTES = 100
    if way in (in_one, post_and_put):
        response = way(pusher, DATA, sha256(DATA))
    else:
        url = pusher.begin()
        assert pusher.patch(url, DATA[:60]).status_code == 202
        response = pusher.patch(url, DATA[60:120]) if way is streamed else pusher.put(url, DATA[60:], sha256(DATA))
        assert pusher.client.get(url).headers["Range"] == "0-59"
        pusher.client.delete(url)

    assert (response.status_code, code_of(response)) == (413, "SIZE_INVALID")
    assert "LARDER_OCI_BLOB_MAX_BYTES" in response.json()["errors"][0]["message"]
    assert stored_files() == []


@pytest.mark.parametrize(
    "digest", ["", "sha256:baddigeststring", "md5:" + 32 * "0", "sha256:" + 64 * "A", "sha512:" + 64 * "0"]
)
def test_what_is_no_digest_is_refused_and_the_session_goes_on(pusher, digest):
    url = pusher.begin()

    for response in (pusher.post(DATA, digest), pusher.put(url, DATA, digest), pusher.mount(digest)):
        assert (response.status_code, code_of(response)) == (400, "DIGEST_INVALID")
    assert pusher.put(url, DATA, sha256(DATA)).status_code == 201


def test_both_algorithms_find_one_object(pusher, stored_files):
    pusher.push(DATA, sha512(DATA))
    pusher.push(DATA, sha256(DATA))

    blob = Blob.objects.get()
    assert (f"sha256:{blob.digest}", f"sha512:{blob.sha512}") == (sha256(DATA), sha512(DATA))
    assert (blob.state, blob.size, len(stored_files())) == (State.READY, len(DATA), 1)
    for digest in (sha256(DATA), sha512(DATA)):
        assert pusher.head(digest).headers["Docker-Content-Digest"] == digest


def test_bytes_that_a_release_brought_learn_their_sha512(pusher, published):
    release = published("acme/dns/aws", "1.0.0", data=None)
    blob = Blob.objects.get(digest=release.digest)
    assert blob.sha512 is None
    with_bytes = pusher.client.get(f"/archives/{release.digest}/dns.zip").getvalue()

    pusher.push(with_bytes)
    blob.refresh_from_db()
    assert f"sha512:{blob.sha512}" == sha512(with_bytes)


def test_the_first_push_makes_the_repository(pusher, alice):
    pusher.begin()

    repository = Repository.objects.get()
    assert (str(repository), repository.created_by) == ("acme/vpc/aws", alice)


def test_a_hint_of_the_algorithm_changes_nothing(pusher):
    url = pusher.begin("?digest-algorithm=sha512")
    assert pusher.put(url, DATA, sha512(DATA)).status_code == 201


def test_a_push_writes_few_rows(pusher, django_assert_max_num_queries):
    pusher.push(b"first")
    with django_assert_max_num_queries(10):
        url = pusher.begin()
    with django_assert_max_num_queries(22):
        pusher.put(url, DATA, sha256(DATA))
