"""A large file is hashed once for the many that want it at the same moment."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from apps.blobs import backends, ingest, store, verifying
from apps.blobs.care import integrity
from apps.blobs.care.verified_files import FOLDER, LARGE, verified_files
from apps.blobs.store import DamagedInStorage
from apps.blobs.verifying import BUSY, PIECE, BeingVerified

DATA = os.urandom(2 * LARGE)


def forget(monkeypatch, digest: str) -> None:
    """Begin as a process of another host begins: it remembers nothing, and finds no mark."""
    monkeypatch.setattr(verified_files, "_found", {})
    mark = backends.current().path(f"{FOLDER}/{digest}")
    assert mark is not None
    mark.unlink(missing_ok=True)


@pytest.fixture
def digest(db, monkeypatch) -> str:
    """Of a blob that another host has taken in."""
    with ingest.receive([DATA]) as arrival:
        blob = ingest.claim(arrival.fingerprint)
        arrival.store()
    ingest.mark_ready(blob)
    forget(monkeypatch, blob.digest)
    return blob.digest


def test_one_thread_hashes_it_and_the_others_are_told_to_wait_for_that(digest, monkeypatch):
    begun, may_end, read = Event(), Event(), store.read

    def slowly(of: str):
        begun.set()
        assert may_end.wait(10)
        return read(of)

    monkeypatch.setattr(store, "read", slowly)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(verifying.verify_file, digest, size=len(DATA))
        assert begun.wait(10)
        with pytest.raises(BeingVerified) as busy:
            verifying.verify_file(digest, size=len(DATA))
        ticket = busy.value.ticket
        assert verifying.states_of([ticket, 0]) == {ticket: BUSY}
        may_end.set()
        first.result()

    assert verifying.states_of([ticket]) == {}
    verifying.verify_file(digest, size=len(DATA))
    assert store.verified_file(digest) is not None


def test_what_was_verified_leaves_in_small_pieces_and_every_part_is_right(digest):
    verifying.verify_file(digest, size=len(DATA))

    pieces = list(verifying.read_part(digest, range(len(DATA)), size=len(DATA)))
    assert (b"".join(pieces), max(map(len, pieces))) == (DATA, PIECE)
    for part in (range(5, 6), range(PIECE - 1, 3 * PIECE), range(len(DATA) - 7, len(DATA))):
        assert b"".join(verifying.read_part(digest, part, size=len(DATA))) == DATA[part.start : part.stop]


def test_what_nobody_hashed_is_hashed_on_the_way_and_small_files_are_nobodys_wait(digest):
    verifying.verify_file(digest, size=LARGE - 1)
    assert store.verified_file(digest) is None

    assert b"".join(verifying.read_part(digest, range(len(DATA)), size=len(DATA))) == DATA
    assert store.verified_file(digest) is not None


def test_damage_is_found_before_anybody_gets_a_byte(digest, settings):
    path = settings.DATA_DIR / "blobs" / "sha256" / digest[:2] / digest
    path.chmod(0o600)
    path.write_bytes(DATA[:-1] + bytes([DATA[-1] ^ 1]))
    try:
        with pytest.raises(DamagedInStorage):
            verifying.verify_file(digest, size=len(DATA))
        assert verifying.states_of([1, 2, 3]) == {}
    finally:
        integrity.known.value = {}
