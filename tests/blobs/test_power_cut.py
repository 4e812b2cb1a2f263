"""Acknowledged bytes survive a power cut on this host's disk (D20)."""

import hashlib
import shutil

import pytest

from apps.blobs.backends.local import LocalBackend
from apps.lib.process import durable
from apps.releases.models import Release
from apps.signing import vault
from registry_site.server import files
from tests.builders.archives import module_zip
from tests.builders.held import held_key
from tests.powercut import power_cut

__all__ = ["power_cut"]
DATA = [b"a", b"b" * 70_000, b"c"]
WHOLE = b"".join(DATA)
DIGEST = hashlib.sha256(WHOLE).hexdigest()
KEY = f"sha256/{DIGEST[:2]}/{DIGEST}"


def written(backend):
    backend.write("staging/one", DATA)
    return {"staging/one"}


def put_once(backend):
    backend.put_once("ledger/a/b", WHOLE)
    return {"ledger/a/b"}


def promoted(backend):
    backend.write("staging/one", DATA)
    backend.commit("staging/one", KEY, DIGEST)
    return {"staging/one", KEY}


def adopted(backend):
    backend.write("staging/one", DATA)
    backend.commit("staging/one", KEY, DIGEST, is_hashed=True)
    return {"staging/one", KEY}


def arrived(backend):
    with backend.receiving("staging/one", DATA) as keep:
        keep(KEY, DIGEST)
    return {KEY}


def by_the_loser(backend):
    """Of two that store the same, the second says «it is there» without having linked it."""
    backend.write("staging/one", DATA)
    target = backend.root / KEY
    target.parent.mkdir(parents=True)
    (backend.root / "staging" / "one").chmod(0o400)
    target.hardlink_to(backend.root / "staging" / "one")
    for folder in (backend.root, backend.root / "sha256"):
        durable.settle(folder)
    backend.commit("staging/one", KEY, DIGEST)
    return {KEY}


@pytest.mark.parametrize("verb", [written, put_once, promoted, adopted, arrived, by_the_loser])
def test_each_verb_of_storage_leaves_whole_bytes_under_their_name(tmp_path, power_cut, verb):
    backend = LocalBackend(tmp_path / "blobs")

    kept = verb(backend)

    left = power_cut.left(tmp_path)
    assert {key: left.get(f"blobs/{key}") for key in kept} == dict.fromkeys(kept, WHOLE)


def test_an_upload_that_was_acknowledged_is_left(client, alice, bearer, settings, power_cut):
    body = module_zip()
    answer = client.put(
        "/api/v1/modules/acme/vpc/aws/1.0.0", body, content_type="application/zip", headers=bearer(alice)
    )

    assert answer.status_code == 202
    staged = [data for path, data in power_cut.left(settings.DATA_DIR).items() if path.startswith("blobs/staging/")]
    assert body in staged


def test_a_version_that_readers_see_is_left_with_its_ledger_entry(published, settings, power_cut):
    body = module_zip()
    digest = hashlib.sha256(body).hexdigest()
    release = published("acme/vpc/aws", "1.0.0", data=body)

    left = power_cut.left(settings.DATA_DIR)
    assert Release.objects.published().filter(pk=release.pk).exists()
    assert left[f"blobs/sha256/{digest[:2]}/{digest}"] == body
    assert any(path.startswith("blobs/ledger/") and digest.encode() in data for path, data in left.items())


def test_a_small_file_that_was_replaced_is_left(tmp_path, power_cut):
    files.replace(tmp_path / "secret_key", b"the old one", mode=0o600)
    files.replace(tmp_path / "secret_key", b"the new one", mode=0o600)

    assert power_cut.left(tmp_path)["secret_key"] == b"the new one"


def test_the_key_encryption_key_is_left_before_anything_is_sealed_with_it(acme, worker_host, settings, power_cut):
    shutil.rmtree(settings.SIGNING_KEK_FILE.parent, ignore_errors=True)  # another test may have left its own
    held_key(acme)

    left = power_cut.left(settings.DATA_DIR)
    assert left["signing/kek"] == settings.SIGNING_KEK_FILE.read_bytes()
    assert vault.newest_kek_id()
