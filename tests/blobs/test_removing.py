"""Removing a blob, and who may meet while that happens. On both backends."""

import hashlib

import pytest

from apps.blobs import store
from apps.blobs.models import Blob, State
from tests.blobs.conftest import on_disk

DATA = b"an archive" * 1000
DIGEST = hashlib.sha256(DATA).hexdigest()
KEY = f"sha256/{DIGEST[:2]}/{DIGEST}"

pytestmark = pytest.mark.django_db


@pytest.fixture
def kept(backend):
    store.stage("one", [DATA])
    blob = store.store_staged("one", digest=DIGEST, size=len(DATA))
    store.discard_staged("one")
    return blob


def again():
    store.stage("two", [DATA])
    return store.store_staged("two", digest=DIGEST, size=len(DATA))


def test_the_bytes_go_and_then_the_row_and_it_may_be_repeated(kept, keys):
    assert store.remove(DIGEST, is_wanted=lambda: False) is True
    assert keys() == []
    assert Blob.objects.count() == 0
    assert store.remove(DIGEST, is_wanted=lambda: pytest.fail("asked where there is nothing")) is True


@pytest.mark.both
@on_disk
def test_the_row_says_leaving_before_anybody_is_asked_and_what_is_wanted_stays(kept, keys):
    assert store.remove(DIGEST, is_wanted=lambda: Blob.objects.get().state == State.DELETING) is False
    assert keys() == [KEY]
    assert Blob.objects.get().state == State.READY


@pytest.mark.both
@on_disk
def test_whoever_stores_the_same_bytes_meanwhile_waits(kept, keys):
    def meets() -> bool:
        with pytest.raises(store.StorageUnavailable, match="is being removed"):
            again()
        return False

    store.remove(DIGEST, is_wanted=meets)
    assert keys() == ["staging/two"]
    assert store.store_staged("two", digest=DIGEST, size=len(DATA)).state == State.READY
    assert KEY in keys()


def test_a_removal_that_died_half_way_is_taken_up(kept, keys, backend, monkeypatch):
    def dies(*_: object) -> None:
        raise store.StorageUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(type(backend), "delete", dies)
        with pytest.raises(store.StorageUnavailable):
            store.remove(DIGEST, is_wanted=lambda: False)
    assert (Blob.objects.get().state, keys()) == (State.DELETING, [KEY])
    with pytest.raises(store.StorageUnavailable):
        again()
    assert store.remove(DIGEST, is_wanted=lambda: False) is True
    assert keys() == ["staging/two"]


@on_disk
def test_bytes_that_somebody_stores_anew_are_not_taken_for_old_ones(kept, keys):
    """A row that is only claimed belongs to an upload that came after the removal."""
    store.remove(DIGEST, is_wanted=lambda: False)
    again()
    Blob.objects.update(state=State.PENDING)

    assert store.remove(DIGEST, is_wanted=lambda: False) is True
    assert KEY in keys()
