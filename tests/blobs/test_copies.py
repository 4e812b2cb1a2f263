"""Copies for backups, and the check-up of storage: on a folder and on S3."""

import hashlib
from datetime import timedelta

import pytest

from apps.blobs import store
from apps.blobs.care import copies, round_trip
from tests.rows import for_each_row

DATA = bytes(range(256)) * 100
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def stored(backend, db) -> str:
    staged = store.stage("one", [DATA])
    # Without the row's own transaction, which a test's would be around.
    with backend.receiving("staging/one", [DATA]) as commit:
        commit(copies.path_of(staged.digest), staged.digest)
    store.discard_staged("one")
    return staged.digest


@for_each_row("is_linked", [True, False])
def test_a_blob_goes_to_a_file_and_back(stored, backend, keys, tmp_path, is_linked):
    copy = tmp_path / f"copy-{is_linked}"
    assert copies.save_blob(stored, copy, is_linked=is_linked) == len(DATA)
    assert copy.read_bytes() == DATA

    assert copies.load_blob(stored, copy) is False, "it is there"
    backend.delete(copies.path_of(stored))
    assert copies.is_empty()
    assert copies.load_blob(stored, copy) is True
    assert keys() == [copies.path_of(DIGEST)]
    assert not copies.is_empty()


def test_damage_is_found_on_both_ways(stored, backend, keys, tmp_path):
    backend.delete(copies.path_of(stored))
    backend.write(copies.path_of(stored), [b"other bytes"])
    with pytest.raises(copies.Unequal, match="is damaged in storage"):
        copies.save_blob(stored, tmp_path / "copy", is_linked=False)

    backend.delete(copies.path_of(stored))
    (tmp_path / "other").write_bytes(b"other bytes")
    with pytest.raises(copies.Unequal, match="other is damaged"):
        copies.load_blob(stored, tmp_path / "other")
    assert keys() == []
    with pytest.raises(store.Missing):
        copies.save_blob(stored, tmp_path / "none", is_linked=True)


def test_the_ledger_and_the_epoch_go_along_and_meet_no_other(backend):
    assert copies.is_empty()
    store.put_once("ledger/module/acme/vpc/aws/1.0.0.json", b"{}")
    store.raise_number("epoch", 7)

    found = dict(copies.own_objects())
    assert list(found) == ["ledger/module/acme/vpc/aws/1.0.0.json", "epoch/000000000007"]
    for key, data in found.items():
        copies.load_object(key, data)
    with pytest.raises(copies.Unequal, match="storage has another ledger/module"):
        copies.load_object("ledger/module/acme/vpc/aws/1.0.0.json", b"[]")
    assert not copies.is_empty()


def test_the_round_trip_leaves_nothing_behind(backend, keys):
    round_trip.try_storage()

    assert round_trip.clock_offset(timedelta(seconds=60)) == ""
    assert keys() == []
