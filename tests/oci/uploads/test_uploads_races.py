"""Many clients at once: one finishes an upload, one object is stored, and every answer is one that a client knows."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from apps.artifacts.models import RepositoryBlob, UploadSession
from apps.blobs.models import Blob, State
from tests import threads
from tests.oci.uploading import sha256, sha512

DATA = b"a layer" * 5000

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both]


def at_once(*calls: Callable[[], Any]) -> Counter[int]:
    """Return how often each status was answered."""
    return Counter(answer.status_code for answer in threads.at_once(*calls))


def test_twelve_clients_push_the_same_blob(uploader, stored_files):
    """Case 7."""
    digests = [sha256(DATA), sha512(DATA)] * 6
    urls = [uploader.begin() for _ in digests]
    pairs = zip(urls, digests, strict=True)

    assert at_once(*(lambda u=url, d=digest: uploader.put(u, DATA, d) for url, digest in pairs)) == {201: 12}
    assert (len(stored_files()), Blob.objects.get().state, RepositoryBlob.objects.count()) == (1, State.READY, 1)
    assert UploadSession.objects.count() == 0


@pytest.mark.parametrize("chunks", [0, 1, 2])
def test_one_of_six_finishes_an_upload(uploader, stored_files, chunks):
    """Case 7."""
    url = uploader.begin()
    for _ in range(chunks):
        uploader.patch(url, DATA)
    last = b"" if chunks else DATA

    found = at_once(*(lambda: uploader.put(url, last, sha256(DATA * (chunks or 1))) for _ in range(6)))
    assert found == {201: 1, 404: 5}
    assert len(stored_files()) == 1


def test_of_parallel_chunks_for_one_offset_one_comes_in(uploader, stored_files):
    """Case 6."""
    url = uploader.begin()

    found = at_once(*(lambda: uploader.patch(url, DATA, Content_Range=f"0-{len(DATA) - 1}") for _ in range(6)))
    assert found[202] == 1
    assert found.keys() <= {202, 416, 503}, "too late, or at the same time"
    assert len(stored_files()) == 1
    assert uploader.put(url, b"", sha256(DATA)).status_code == 201


def test_braces_pushed_to_many_repositories_stay_when_one_lets_go(uploader_of, alice, stored_files):
    """Case 10."""
    many = [uploader_of(alice, name=f"acme/module{n}/aws") for n in range(8)]
    digest = sha256(b"{}")

    assert at_once(*(lambda one=one: one.post(b"{}", digest) for one in many)) == {201: 8}
    assert many[0].delete(digest).status_code == 202
    assert [one.get(digest).status_code for one in many] == [404] + [200] * 7
    assert len(stored_files()) == 1
