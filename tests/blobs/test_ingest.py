"""Bytes that are kept as they come in, on both backends."""

import hashlib

import pytest
from django.db import transaction

from apps.blobs import backends, ingest, store
from apps.blobs.models import Blob, State
from apps.lib.formats.fingerprints import Fingerprint

DATA = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(DATA).hexdigest()
KEY = f"sha256/{DIGEST[:2]}/{DIGEST}"

pytestmark = pytest.mark.django_db


def in_chunks():
    return (DATA[at : at + 100_000] for at in range(0, len(DATA), 100_000))


def keep(arrival):
    with transaction.atomic():
        blob = ingest.claim(arrival.fingerprint)
    arrival.store()
    ingest.mark_ready(blob)


def staged_chunk(key):
    staged = store.stage(key, in_chunks())
    return ingest.staged(key, Fingerprint(staged.digest, staged.sha512, staged.size), is_hashed=True)


def test_what_is_kept_reads_back_and_is_one_object_however_often_it_comes(backend, keys):
    for _ in range(2):
        with ingest.receive(in_chunks(), with_sha512=True) as arrival:
            keep(arrival)

    blob = Blob.objects.get()
    assert (blob.digest, blob.sha512, blob.state) == (DIGEST, hashlib.sha512(DATA).hexdigest(), State.READY)
    assert (b"".join(store.read(DIGEST)), keys()) == (DATA, [KEY])


def test_a_file_that_came_in_whole_may_leave_without_another_look_until_somebody_writes_it():
    with ingest.receive(in_chunks()) as arrival:
        keep(arrival)
    file = store.verified_file(DIGEST)
    assert file is not None

    file.path.touch()
    assert store.verified_file(DIGEST) is None
    with ingest.receive(in_chunks()) as arrival:  # what is there already is not what came
        keep(arrival)
    assert store.verified_file(DIGEST) is None


def test_what_is_not_kept_is_gone(backend, keys):
    with ingest.receive(in_chunks()) as arrival:
        assert arrival.fingerprint.size == len(DATA)
    assert keys() == []


def test_a_chunk_is_kept_from_staging_and_missing_where_it_was_swept(backend, keys, monkeypatch):
    monkeypatch.setattr(backends, "SHOWN_SECONDS", 0.2)
    swept = ingest.new_key()
    arrival = staged_chunk(swept)
    store.discard_staged(swept)
    with pytest.raises(store.Missing):
        arrival.store()

    key = ingest.new_key()
    keep(staged_chunk(key))
    store.discard_staged(key)
    assert (b"".join(store.read(DIGEST)), keys()) == (DATA, [KEY])
