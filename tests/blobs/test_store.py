"""Staging, promotion and reading, on both backends."""

import hashlib
import tracemalloc
from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction
from django.utils import timezone

from apps.blobs import backends, store
from apps.blobs.backends import LARGEST_STEP, Steps
from apps.blobs.care.integrity import Verified
from apps.blobs.models import Blob, State
from tests.blobs.conftest import on_disk
from tests.rows import for_each_row
from tests.threads import at_once

DATA = bytes(range(256)) * 4000  # 1 MB: several steps of a read
DIGEST = hashlib.sha256(DATA).hexdigest()
KEY = f"sha256/{DIGEST[:2]}/{DIGEST}"


class Disconnected(Exception):
    pass


def broken_after(*chunks: bytes):
    yield from chunks
    raise Disconnected


def in_chunks(data: bytes, size: int = 100_000):
    return (data[at : at + size] for at in range(0, len(data), size))


def kept(key: str = "one") -> Blob:
    staged = store.stage(key, in_chunks(DATA))
    return store.store_staged(key, digest=staged.digest, size=staged.size)


def test_nothing_at_all_is_something_and_storage_that_answers_is_ready(backend, keys):
    store.ready()
    assert keys() == []
    assert store.stage("empty", []) == store.Staged(hashlib.sha256(b"").hexdigest(), 0, hashlib.sha512(b"").hexdigest())
    with store.open_staged("empty") as file:
        assert file.read() == b""


def test_staged_bytes_come_back_as_a_real_file_until_they_are_discarded(backend, keys):
    assert store.stage("one", in_chunks(DATA)) == store.Staged(DIGEST, len(DATA))
    assert keys() == ["staging/one"]

    with store.open_staged("one") as file:
        assert file.fileno() > 2
        assert hashlib.sha256(file.read()).hexdigest() == DIGEST
        file.seek(-5, 2)
        assert file.read() == DATA[-5:]

    store.discard_staged("one")
    store.discard_staged("one")
    assert keys() == []


@for_each_row("megabytes", [0, 1, 9, 20])
def test_a_stage_that_breaks_half_way_leaves_nothing(backend, keys, megabytes):
    with pytest.raises(Disconnected):
        store.stage("one", broken_after(*[b"x" * 1024 * 1024] * megabytes))

    assert keys() == []
    with pytest.raises(store.Missing):
        store.open_staged("one")


@pytest.mark.slow
def test_large_uploads_cost_little_memory(backend):
    chunk = bytes(256 * 1024)
    tracemalloc.start()
    try:
        store.stage("large", (chunk for _ in range(4 * 48)))
        staged_peak = tracemalloc.get_traced_memory()[1]
        store.open_staged("large").close()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert staged_peak < 36 * 1024 * 1024  # 48 MB went through
    assert peak < 36 * 1024 * 1024


def test_a_stored_blob_is_ready_and_reads_back(db, backend, keys):
    blob = kept()

    assert (blob.digest, blob.size, blob.state) == (DIGEST, len(DATA), State.READY)
    assert b"".join(store.read(DIGEST)) == DATA
    assert max(map(len, store.read(DIGEST))) <= LARGEST_STEP
    assert store.size_of(DIGEST) == len(DATA)
    assert keys() == [KEY, "staging/one"]


def test_stored_again_it_is_the_same_blob_and_bytes_without_a_row_are_taken(db, backend, keys):
    first = kept()
    again = store.store_staged("one", digest=DIGEST, size=len(DATA))
    store.discard_staged("one")
    without_staging = store.store_staged("one", digest=DIGEST, size=len(DATA))

    assert first == again == without_staging
    assert keys() == [KEY]
    Blob.objects.all().delete()
    assert kept("two").state == State.READY


def test_a_truncated_upload_is_never_ready(db, backend, keys):
    store.stage("one", [DATA])
    backend.write("staging/one", [DATA[:-1]])
    with pytest.raises(store.Damaged):
        store.store_staged("one", digest=DIGEST, size=len(DATA))
    assert Blob.objects.get().state == State.PENDING
    assert keys() == ["staging/one"]

    backend.write(KEY, [DATA[:-1]])  # neither is one that is in its place already
    store.stage("one", [DATA])
    with pytest.raises(store.Damaged):
        store.store_staged("one", digest=DIGEST, size=len(DATA))
    assert Blob.objects.get().state == State.PENDING


@on_disk
@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_it_refuses_to_work_inside_a_transaction(backend):
    store.stage("one", [DATA])

    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        store.store_staged("one", digest=DIGEST, size=len(DATA))


@for_each_row(("start", "stop"), [(0, None), (0, 1), (5, 10), (300_000, 900_000), (len(DATA) - 1, None), (7, 7)])
def test_ranges_are_exact(db, backend, start, stop):
    kept()

    assert b"".join(store.read(DIGEST, start=start, stop=stop)) == DATA[start:stop]


def test_a_missing_blob_is_missing_before_the_first_byte_and_so_is_what_was_never_staged(db, backend, monkeypatch):
    monkeypatch.setattr(backends, "SHOWN_SECONDS", 0.2)
    assert store.size_of(DIGEST) is None
    with pytest.raises(store.Missing):
        store.read(DIGEST)
    with pytest.raises(store.Missing):
        store.store_staged("one", digest=DIGEST, size=len(DATA))


def test_a_reader_that_leaves_half_way_closes(db, backend):
    kept()
    part, whole = store.read(DIGEST, stop=2), store.read(DIGEST)
    for steps in (part, whole):
        assert isinstance(steps, Steps | Verified)
        next(steps)

        steps.close()

        assert list(steps) == []


def test_a_ledger_entry_is_written_once(backend):
    key = "ledger/module/acme/vpc/aws/1.0.0+build.7.json"

    assert store.get(key) is None
    assert store.put_once(key, b"first") is True
    assert store.put_once(key, b"second") is False
    assert store.get(key) == b"first"


@pytest.mark.slow
def test_of_64_writers_one_creates(backend):
    count = 64 if backend.creates_by() != "turns" else 8  # those wait for one another
    won = at_once(*(partial(store.put_once, "ledger/race.json", b"%d" % number) for number in range(count)))

    assert won.count(True) == 1
    assert store.get("ledger/race.json") == b"%d" % won.index(True)


@on_disk
@for_each_row(
    "key",
    ["", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/.hidden", "a\\b", "a\0", "a b", "a\n", "é", "x" * 700],
)
def test_keys_that_could_leave_their_folder_are_refused(backend, keys, key):
    for act in (
        lambda: store.stage(key, [b"x"]),
        lambda: store.open_staged(key),
        lambda: store.discard_staged(key),
        lambda: store.put_once(key, b"x"),
        lambda: store.get(key),
    ):
        with pytest.raises(store.BadKey):
            act()
    assert keys() == []


@on_disk
def test_only_digests_name_blobs_and_nobody_writes_them_as_if_they_were_ledger_entries(backend):
    for digest in ("", "../x", DIGEST.upper(), DIGEST[1:], f"{DIGEST}\n"):
        with pytest.raises(store.BadKey):
            store.size_of(digest)
    for key in ("staging/x", f"sha256/{DIGEST[:2]}/{DIGEST}", "sha256/x"):
        with pytest.raises(store.BadKey):
            store.put_once(key, b"x")


def test_the_sweep_drops_what_is_a_day_old(db, backend, keys, tomorrow):
    assert store.sweep(now=tomorrow) == 0, "nothing was stored yet"
    kept()
    store.put_once("ledger/kept.json", b"{}")

    assert store.sweep(now=timezone.now() + timedelta(hours=23)) == 0
    assert store.sweep(now=tomorrow) == 1
    assert keys() == ["ledger/kept.json", KEY]
