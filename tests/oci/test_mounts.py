"""Mounting: what the caller reads elsewhere is shown here without being sent again; everything else is an upload."""

import pytest

from apps.accounts.models import Grant, Role, Scope
from apps.artifacts.models import RepositoryBlob
from tests.oci.uploading import sha256, sha512
from tests.rows import for_each_row

DATA = b"a shared layer" * 100
PRIVATE, PUBLIC, HALL = "acme/vpc/aws", "pantry/vpc/aws", "hall/vpc/aws"
OTHERS = [HALL, "nobody/at/all", "nonsense", "A/B/C", "a/b/c/d", "providers/registry.example.org/acme/vpc"]


@pytest.fixture
def source(uploader):
    uploader.push(DATA)
    return PRIVATE


@pytest.fixture
def target(uploader_of, alice):
    return uploader_of(alice, name=PUBLIC)


def is_mounted(response, digest, name=PUBLIC):
    assert response.status_code == 201
    assert response.headers["Location"] == f"/v2/{name}/blobs/{digest}"
    return True


def is_an_upload(response, uploader, data=DATA):
    assert response.status_code == 202
    assert uploader.put(response.headers["Location"], data, sha256(data)).status_code == 201
    return True


@pytest.mark.both
@for_each_row("digest", [sha256(DATA), sha512(DATA)], ids=["sha256", "sha512"])
@for_each_row("asked", [(PRIVATE,), (PRIVATE, "&origin=registry.example.org"), ()])
def test_a_blob_is_mounted_from_where_it_is_said_to_be_or_from_any_that_the_caller_reads(
    source, target, stored_files, digest, asked
):
    """Case 12: crane names an `origin` as well."""
    assert is_mounted(target.mount(digest, *asked), digest)
    assert target.get(digest).getvalue() == DATA
    assert len(stored_files()) == 1


def test_a_repository_may_be_its_own_source(source, uploader):
    """Case 12."""
    assert is_mounted(uploader.mount(sha256(DATA), source), sha256(DATA), PRIVATE)
    assert RepositoryBlob.objects.count() == 1


@for_each_row(("where", "data"), [*((name, DATA) for name in OTHERS), (PRIVATE, b"other"), ("", b"other")])
def test_a_source_without_the_blob_begins_an_upload(source, target, where, data):
    """Case 12."""
    assert is_an_upload(target.mount(sha256(data), where), target, data)


def test_what_is_hidden_is_not_mounted(source, uploader_of, charlie, hall):
    """Case 11: Charlie publishes in hall, and does not see acme: whether the digest is there stays unknown to him."""
    Grant.objects.create(namespace=hall, user=charlie, role=Role.PUBLISHER)
    his = uploader_of(charlie, name=HALL)

    for response in (his.mount(sha256(DATA), source), his.mount(sha256(DATA))):
        assert response.status_code == 202
    assert his.get(sha256(DATA)).status_code == 404


def test_a_token_for_one_namespace_mounts_nothing_of_another(source, bearer, alice, pantry, target):
    target.client.defaults.update(
        {"HTTP_AUTHORIZATION": bearer(alice, Scope.PUBLISH, namespaces=[pantry])["Authorization"]}
    )
    for response in (target.mount(sha256(DATA), source), target.mount(sha256(DATA))):
        assert response.status_code == 202


def test_the_archive_of_a_release_is_mounted(published, target):
    digest = f"sha256:{published('acme/dns/aws', '1.0.0').digest}"

    assert is_mounted(target.mount(digest, "acme/dns/aws"), digest)
    assert sha256(target.get(digest).getvalue()) == digest


def test_a_deleted_blob_is_not_mounted(source, uploader, target):
    uploader.delete(sha256(DATA))
    for response in (target.mount(sha256(DATA), source), target.mount(sha256(DATA))):
        assert response.status_code == 202
