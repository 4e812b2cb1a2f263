"""Taking blobs out of a repository, and what keeps their bytes."""

import pytest

from apps.artifacts.models import Manifest, ManifestBlob, Repository, RepositoryBlob
from apps.blobs import store
from apps.blobs.models import Blob, State
from tests.oci.manifests.documents import code_of
from tests.oci.uploading import sha256, sha512
from tests.rows import for_each_row

DATA = b"a layer" * 100
DIGEST = sha256(DATA)
PLAIN = DIGEST.partition(":")[2]


@for_each_row("digest", [DIGEST, sha512(DATA)], ids=["sha256", "sha512"])
def test_a_deleted_blob_is_gone_from_its_repository_alone(uploader, uploader_of, alice, digest):
    other = uploader_of(alice, name="pantry/vpc/aws")
    uploader.push(DATA)
    other.push(DATA)

    response = uploader.delete(digest)
    assert (response.status_code, response.content) == (202, b"")
    assert [uploader.get(DIGEST).status_code, uploader.delete(digest).status_code] == [404, 404]
    assert other.get(DIGEST).getvalue() == DATA
    uploader.push(DATA)
    assert uploader.get(DIGEST).status_code == 200


@pytest.mark.both
def test_a_blob_that_a_manifest_uses_stays(uploader):
    uploader.push(DATA)
    raw = b"{}"
    manifest = Manifest.objects.create(repository=Repository.objects.get(), digest=sha256(raw), size=2, raw=raw)
    ManifestBlob.objects.create(manifest=manifest, blob=RepositoryBlob.objects.get())

    response = uploader.delete(DIGEST)
    assert code_of(response) == (405, "UNSUPPORTED")
    assert uploader.get(DIGEST).status_code == 200


def test_the_archive_of_a_release_is_not_deleted_as_a_blob(uploader, uploader_of, published, alice):
    """Mounted or pushed there too, it would still be served. What was pushed beside it may go."""
    digest = f"sha256:{published('acme/vpc/aws', '1.2.0').digest}"
    other = uploader_of(alice, name="pantry/vpc/aws")
    data = uploader.get(digest).getvalue()

    refuses(uploader, digest)
    assert other.mount(digest, "acme/vpc/aws").status_code == 201
    assert uploader.mount(digest, "pantry/vpc/aws").status_code == 201
    refuses(uploader, digest)
    uploader.push(data)
    refuses(uploader, sha512(data))
    assert (other.delete(digest).status_code, other.head(digest).status_code) == (202, 404)
    uploader.push(DATA)
    assert (uploader.delete(DIGEST).status_code, uploader.head(DIGEST).status_code) == (202, 404)


@for_each_row("digest", [sha256(b"{}"), sha512(b"{}")], ids=["sha256", "sha512"])
def test_the_empty_config_is_deleted_where_no_release_uses_it(uploader, published, digest):
    uploader.push(b"{}")
    assert (uploader.delete(digest).status_code, uploader.head(digest).status_code) == (202, 404)
    published("acme/vpc/aws", "1.2.0")

    refuses(uploader, digest)
    uploader.push(b"{}")
    refuses(uploader, digest)


def refuses(uploader, digest):
    """The refusal names the alternative, and the blob is still served."""
    response = uploader.delete(digest)
    assert code_of(response) == (405, "UNSUPPORTED")
    message = response.json()["errors"][0]["message"]
    assert message.startswith(f"A release of acme/vpc/aws uses {digest}. Releases cannot be deleted over OCI")
    assert uploader.head(digest).status_code == 200


def test_the_store_removes_no_blob_of_a_repository(uploader):
    uploader.push(DATA)

    assert store.remove(PLAIN, is_wanted=lambda: False) is False
    assert uploader.get(DIGEST).getvalue() == DATA
    uploader.delete(DIGEST)
    assert store.remove(PLAIN, is_wanted=lambda: False) is True
    assert Blob.objects.count() == 0


@pytest.mark.both
def test_a_push_that_meets_a_removal_waits(uploader):
    uploader.push(DATA)
    uploader.delete(DIGEST)
    url = uploader.begin()

    def meets() -> bool:
        response = uploader.put(url, DATA, DIGEST)
        assert code_of(response) == (503, "UNAVAILABLE")
        return False

    assert store.remove(PLAIN, is_wanted=meets) is True
    assert uploader.put(url, DATA, DIGEST).status_code == 201
    assert uploader.get(DIGEST).getvalue() == DATA


def test_a_blob_whose_bytes_are_on_their_way_is_not_there_yet(uploader):
    uploader.push(DATA)
    Blob.objects.update(state=State.PENDING)
    assert uploader.head(DIGEST).status_code == 404
    uploader.push(DATA)
    assert uploader.head(DIGEST).status_code == 200
