"""Objects that no row knows, and taking them away without losing what somebody stores meanwhile. On both backends."""

import hashlib
import time
from contextlib import suppress
from datetime import timedelta

import pytest
import structlog
from django.db.models import Q
from django.utils import timezone

from apps.blobs import references, store
from apps.blobs.care import scrub
from apps.blobs.models import Blob, State
from tests.blobs.conftest import on_disk
from tests.rows import for_each_row
from tests.threads import at_once

DATA = b"nobody's" * 1000
DIGEST = hashlib.sha256(DATA).hexdigest()
KEY = f"sha256/{DIGEST[:2]}/{DIGEST}"

pytestmark = pytest.mark.django_db


def digest_of(number: int) -> str:
    return hashlib.sha256(b"%d" % number).hexdigest()


def stores(name: str = "one") -> Blob:
    store.stage(name, [DATA])
    return store.store_staged(name, digest=DIGEST, size=len(DATA))


@pytest.fixture
def orphan(backend) -> str:
    backend.write(KEY, [DATA])
    return DIGEST


def test_an_orphan_is_counted_named_and_left(orphan, keys, tomorrow):
    stores("two")
    Blob.objects.all().delete()
    with structlog.testing.capture_logs() as logged:
        report = scrub.scrub(now=tomorrow)

    assert (report.listed, report.orphans, report.first_orphans, report.removed) == (1, 1, [DIGEST], 0)
    assert [entry["first"] for entry in logged if entry["event"] == "orphans_found"] == [[DIGEST]]
    assert KEY in keys()


@on_disk
@for_each_row("state", State)
def test_whatever_has_a_row_is_none(orphan, tomorrow, state):
    Blob.objects.create(digest=DIGEST, size=len(DATA), state=state)

    assert (report := scrub.scrub(now=tomorrow)).listed == 1
    assert report.orphans == 0


def test_what_is_no_blob_is_not_judged(backend, tomorrow, keys):
    others = ["ledger/x", "sha256/notes", f"sha256/00/{'1' * 64}", f"sha256/{DIGEST}", f"{KEY}.bak"]
    for key in others:
        backend.write(key, [b"x"])
    report = scrub.scrub(now=tomorrow, remove_orphans=True)

    assert (report.listed, report.orphans) == (0, 0)
    assert keys() == sorted(others)


def test_an_orphan_goes_for_whoever_asks_and_a_young_one_is_none(orphan, keys, tomorrow):
    report = scrub.scrub(now=timezone.now(), remove_orphans=True)
    assert (report.listed, report.orphans, report.removed) == (0, 0, 0)

    report = scrub.scrub(now=tomorrow, remove_orphans=True)
    assert (report.orphans, report.removed, keys(), Blob.objects.count()) == (1, 1, [], 0)


@pytest.mark.slow
def test_many_are_found_in_batches_on_every_day(backend, tomorrow, monkeypatch, keys):
    monkeypatch.setattr(scrub, "LISTING_BATCH", 7)
    digests = {digest_of(number) for number in range(40)}
    for digest in digests:
        backend.write(f"sha256/{digest[:2]}/{digest}", [b"x"])
    for day in (0, 5):
        batches = list(scrub.batches_without_row(now=tomorrow + timedelta(days=day)))
        assert [listed for listed, _ in batches] == [7] * 5 + [5]
        assert {digest for _, found in batches for digest in found} == digests

    assert scrub.scrub(now=tomorrow, remove_orphans=True).removed == 40
    assert keys() == []


def test_what_does_not_fit_into_one_run_comes_another_day(backend, tomorrow, monkeypatch):
    monkeypatch.setattr(scrub, "LISTING_BATCH", 1)
    digests = {digest_of(number) for number in range(20)}
    for digest in digests:
        backend.write(f"sha256/{digest[:2]}/{digest}", [b"x"])
    days = [scrub.scrub(now=tomorrow + timedelta(days=day), most=timedelta(0)) for day in range(16)]

    assert {report.orphans for report in days} == {1}
    assert {digest[0] for report in days for digest in report.first_orphans} == {digest[0] for digest in digests}


@on_disk
def test_what_is_removed_between_listing_and_looking_is_none(orphan, backend, tomorrow, monkeypatch):
    blob, real = stores(), type(backend).older

    def older(self, prefix, before):
        for key in real(self, prefix, before):
            store.remove(blob.digest)
            yield key

    monkeypatch.setattr(type(backend), "older", older)

    assert (report := scrub.scrub(now=tomorrow)).listed == 1
    assert report.orphans == 0


@on_disk
def test_what_somebody_has_stored_or_begins_to_store_since_stays(orphan, keys, tomorrow):
    assert [found for _, found in scrub.batches_without_row(now=tomorrow)] == [[DIGEST]]
    row = Blob.objects.create(digest=DIGEST, size=len(DATA))
    assert scrub.remove_orphan(DIGEST) is False
    row.delete()
    stores()

    assert scrub.remove_orphan(DIGEST) is False
    assert KEY in keys()
    assert Blob.objects.get().state == State.READY


@on_disk
@pytest.mark.both
def test_whoever_stores_it_while_it_goes_waits(orphan, keys, monkeypatch):
    def meets(*_: object, **__: object) -> bool:
        with pytest.raises(store.StorageUnavailable, match="is being removed"):
            stores()
        return False

    with monkeypatch.context() as patch:
        patch.setattr(references, "is_referenced", meets)
        assert scrub.remove_orphan(DIGEST) is True
    assert keys() == ["staging/one"]
    stores()
    assert KEY in keys()


@on_disk
def test_what_a_holder_needs_becomes_a_blob_again(orphan, keys, monkeypatch):
    monkeypatch.setattr(references, "checks", (lambda: Q(digest=DIGEST),))

    assert scrub.remove_orphan(DIGEST) is False
    assert keys() == [KEY]
    assert (blob := Blob.objects.get()).state == State.READY
    assert blob.size == len(DATA)


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_of_removing_and_storing_at_once_the_stored_bytes_are_there(backend, keys):
    def stores_until_it_is() -> None:
        for _ in range(1000):
            with suppress(store.StorageUnavailable):
                store.store_staged("one", digest=DIGEST, size=len(DATA))
                break
            time.sleep(0.01)

    for number in range(8):
        backend.write(KEY, [DATA])
        store.stage("one", [DATA])
        at_once(stores_until_it_is, lambda: scrub.remove_orphan(DIGEST))

        assert Blob.objects.get().state == State.READY, number
        assert store.size_of(DIGEST) == len(DATA), number
        Blob.objects.all().delete()
