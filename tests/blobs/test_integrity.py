"""Bytes that are not what their digest says are handed to nobody, whole or in part. On both backends."""

from datetime import timedelta

import pytest
import structlog
from django.utils import timezone

from apps.blobs import store
from apps.blobs.backends import STEP
from apps.blobs.care import integrity, scrub
from apps.blobs.models import Blob, Problem
from apps.blobs.tasks import recheck
from tests.blobs.conftest import on_disk
from tests.blobs.test_scrub import kept, key_of
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
LARGE = 3 * STEP + 17


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def handed_out(digest: str) -> tuple[int, bool]:
    """Return how many bytes of a whole read came, and whether it ended as it should."""
    came = 0
    try:
        for step in store.read(digest):
            came += len(step)
    except store.DamagedInStorage:
        return came, False
    return came, True


@for_each_row("size", [0, 1, STEP - 1, STEP, STEP + 1, LARGE, 9 * STEP])
def test_what_is_right_comes_whole(backend, size):
    data = bytes(size % 251 for size in range(size))
    blob = kept(data)

    assert b"".join(store.read(blob.digest)) == data
    assert b"".join(store.read_part(blob.digest, range(size), size=size)) == data
    assert integrity.known.problem_of(blob.digest) == ""


@for_each_row("size", [1, STEP - 1, STEP, STEP + 1, LARGE])
@for_each_row(
    ("fill", "damage"),
    [(b"1", flipped), (b"2", lambda data: data[:-1]), (b"3", lambda data: data + b"x")],
    ids=["flip", "cut", "long"],
)
def test_what_is_damaged_never_comes_whole(backend, size, fill, damage):
    blob = kept(fill * size)  # each row another blob: what is known of one is kept in memory
    stored = damage(fill * size)
    backend.write(key_of(blob), [stored])
    came, is_whole = handed_out(blob.digest)

    assert not is_whole
    assert came < max(1, len(stored)), "less than an answer promises"
    if size < STEP:
        assert came == 0, "nothing is begun that can be judged before"


def test_two_that_were_exchanged_are_both_found(backend):
    one, other = kept(b"1" * LARGE), kept(b"2" * LARGE)
    backend.write(key_of(one), [b"2" * LARGE])
    backend.write(key_of(other), [b"1" * LARGE])

    assert not handed_out(one.digest)[1]
    assert not handed_out(other.digest)[1]


def test_what_a_reader_found_is_refused_at_once_and_stands_on_the_row(backend):
    blob = kept(bytes(LARGE))
    backend.write(key_of(blob), [flipped(bytes(LARGE))])
    with structlog.testing.capture_logs() as logged:
        assert not handed_out(blob.digest)[1]
    assert [(entry["event"], entry["digest"]) for entry in logged] == [("blob_damaged", blob.digest)]
    for read in (store.open_blob, store.read, lambda digest: store.read(digest, start=1, stop=2)):
        with pytest.raises(store.DamagedInStorage):
            read(blob.digest)
    assert Blob.objects.get().problem == "", "no request writes it"
    integrity.known.renew()

    assert Blob.objects.get().problem == Problem.DAMAGED
    assert Blob.objects.get().checked_at is not None
    assert integrity.known.problem_of(blob.digest) == "damaged"


def test_what_a_check_found_is_refused_and_what_is_right_again_is_served(backend, tomorrow):
    blob = kept(b"right")
    backend.write(key_of(blob), [b"wrong"])
    scrub.scrub(now=tomorrow)
    integrity.known.renew()
    with pytest.raises(store.DamagedInStorage):
        store.read(blob.digest, start=1, stop=2)
    backend.write(key_of(blob), [b"right"])
    scrub.recheck(now=tomorrow + timedelta(minutes=10))
    integrity.known.renew()

    assert b"".join(store.read(blob.digest)) == b"right"


@pytest.mark.both
@on_disk
def test_a_check_that_came_later_counts_more(backend):
    blob = kept(b"right")
    integrity.known.record_damage(blob.digest)
    Blob.objects.update(checked_at=timezone.now() + timedelta(seconds=1))
    integrity.known.renew()

    assert Blob.objects.get().problem == ""
    assert b"".join(store.read(blob.digest)) == b"right"


def test_what_was_missing_and_is_back_is_served_before_the_next_check(backend, tomorrow):
    blob = kept(b"right")
    backend.delete(key_of(blob))
    scrub.scrub(now=tomorrow)
    integrity.known.renew()
    assert integrity.known.problem_of(blob.digest) == "missing"
    with pytest.raises(store.Missing):
        store.read(blob.digest)
    backend.write(key_of(blob), [b"right"])

    assert b"".join(store.read(blob.digest)) == b"right"


@on_disk
def test_every_ten_minutes_findings_alone_are_read_again(backend):
    kept(b"sound")
    blob = kept(b"right")
    Blob.objects.filter(pk=blob.pk).update(problem=Problem.DAMAGED, checked_at=timezone.now() - timedelta(hours=1))
    recheck()

    assert set(Blob.objects.filter(checked_at=None).values_list("size", "problem")) == {(5, "")}
    assert Blob.objects.get(pk=blob.pk).problem == ""


def test_a_reader_that_leaves_half_way_is_no_finding(backend):
    blob = kept(bytes(LARGE))
    steps = store.read(blob.digest)
    next(steps)
    assert isinstance(steps, integrity.Verified)
    steps.close()

    assert list(steps) == []
    assert integrity.known.problem_of(blob.digest) == ""
