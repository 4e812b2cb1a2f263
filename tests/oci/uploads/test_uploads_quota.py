"""Pushed blobs count to the namespace's quota, each once, beside its releases."""

import pytest

from apps.accounts.models import Namespace
from apps.releases.publishing import quotas
from tests.oci.manifests.documents import code_of, image
from tests.oci.uploading import sha256

DATA = b"a layer" * 100


@pytest.fixture
def room(acme):
    def make(size: int) -> None:
        Namespace.objects.filter(pk=acme.pk).update(quota_bytes=size)

    return make


def test_what_does_not_fit_is_refused_and_leaves_nothing(uploader, room, stored_files):
    room(len(DATA) - 1)
    for response in (uploader.post(DATA, sha256(DATA)), uploader.put(uploader.begin(), DATA, sha256(DATA))):
        assert code_of(response) == (413, "SIZE_INVALID")
        assert "has no room" in response.json()["errors"][0]["message"]
    assert stored_files() == []

    room(len(DATA))
    assert uploader.post(DATA, sha256(DATA)).status_code == 201
    assert uploader.post(b"one more", sha256(b"one more")).status_code == 413


@pytest.mark.both
def test_a_blob_counts_once_for_its_namespace_and_a_mount_counts_too(uploader, uploader_of, alice, acme, room):
    room(len(DATA))
    uploader_of(alice, name="pantry/vpc/aws").push(DATA + b"!")
    assert uploader.mount(sha256(DATA + b"!"), "pantry/vpc/aws").status_code == 413
    uploader.push(DATA)

    assert uploader_of(alice, name="acme/other/aws").mount(sha256(DATA), uploader.name).status_code == 201
    assert uploader.post(DATA, sha256(DATA)).status_code == 201
    acme.refresh_from_db()
    assert quotas.usage(acme).bytes == len(DATA)


def test_the_archive_of_a_release_counts_once(uploader, published, acme):
    release = published("acme/vpc/aws", "1.2.0")
    before = quotas.usage(acme).bytes
    uploader.push(uploader.get(f"sha256:{release.digest}").getvalue())

    assert quotas.usage(acme).bytes == before == release.size


@pytest.mark.both
def test_a_manifest_counts_as_it_is_pushed_and_no_second_time(repo, acme, room):
    one, raw = repo("acme/vpc/aws"), image(DATA)
    one.blob(b"{}")
    one.blob(DATA)
    room(len(DATA) + 2 + len(raw) - 1)
    refused = one.put(raw, "main")
    assert code_of(refused) == (413, "SIZE_INVALID")
    assert one.get("main").status_code == 404

    room(len(DATA) + 2 + len(raw))
    assert one.put(raw, "main").status_code == 201
    assert one.put(raw, "other").status_code == 201
    assert one.put(image(DATA, annotations={"one": "more"}), "main").status_code == 413
    acme.refresh_from_db()
    assert quotas.usage(acme).bytes == len(DATA) + 2 + len(raw)
