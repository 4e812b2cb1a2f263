"""An object that exists is never overwritten, whatever the server knows of `If-None-Match: *`."""

import hashlib
from datetime import timedelta

import pytest

from apps.blobs import store
from apps.blobs.backends import StorageUnavailable, objects, s3
from apps.blobs.backends.objects import PART, ObjectBackend, Refused, create_by_turns

TARGET = f"sha256/ab/{'ab' * 32}"
LEDGER = "ledger/module/acme/vpc/aws/1.0.0.json"
FOLDER = f"staging/turns/{hashlib.sha256(LEDGER.encode()).hexdigest()}"


def test_storage_is_asked_what_it_can_do(backend, keys, request):
    expected = {
        "file": "hard links",
        "s3": "If-None-Match",
        "plain_s3": "turns",
        "azure": "If-None-Match",
        "gcs": "ifGenerationMatch",
    }

    assert store.creates_by() == expected[request.node.callspec.params["backend"]]
    assert keys() == []


@pytest.mark.slow
def test_a_large_object_is_created_once(backend, keys, monkeypatch):
    monkeypatch.setattr(ObjectBackend, "largest_put", PART)
    first, second = (letter * (PART + 1) for letter in (b"1", b"2"))
    backend.write("staging/one", [first])
    backend.write("staging/two", [second])

    assert backend.commit("staging/one", TARGET, hashlib.sha256(first).hexdigest()) is True
    assert backend.commit("staging/two", TARGET, hashlib.sha256(second).hexdigest()) is False
    assert b"".join(backend.read(TARGET, 0, None)) == first
    assert keys() == [TARGET, "staging/one", "staging/two"]


@pytest.mark.parametrize("backend", ["s3"], indirect=True)
def test_a_server_that_refuses_the_header_is_one_that_does_not_know_it(backend, monkeypatch):
    def refuses(*_: object) -> None:
        raise Refused("NotImplemented")

    one_of_its_own = s3.S3Backend(backend._address)
    with monkeypatch.context() as patched:
        patched.setattr(one_of_its_own, "_send", lambda _key, _parts, *, only_new: refuses() if only_new else None)
        assert one_of_its_own.creates_by() == "turns"


def test_nobody_writes_while_another_has_the_turn(backend, keys, monkeypatch):
    monkeypatch.setattr(objects, "TURN_ROUNDS", 2)
    wrote = []

    def write() -> None:
        with pytest.raises(StorageUnavailable, match="Another process"):
            create_by_turns(backend, LEDGER, lambda: wrote.append("second"))
        backend.write(LEDGER, [b"first"])

    assert create_by_turns(backend, LEDGER, write) is True
    assert create_by_turns(backend, LEDGER, lambda: wrote.append("third")) is False
    assert wrote == []
    assert keys() == [LEDGER]


def test_an_object_that_came_between_is_seen(backend, monkeypatch):
    """The first writer ends between the second one's first look and its mark."""
    monkeypatch.setattr(objects, "TURN_ROUNDS", 2)
    write = backend.write
    looked: list[str] = []

    def slow_mark(key: str, chunks: list[bytes]) -> None:
        if not looked:
            looked.append(key)
            write(LEDGER, [b"first"])
        write(key, chunks)

    monkeypatch.setattr(backend, "write", slow_mark)

    assert create_by_turns(backend, LEDGER, lambda: write(LEDGER, [b"second"])) is False
    assert b"".join(backend.read(LEDGER, 0, None)) == b"first"


def test_a_write_whose_end_is_unknown_keeps_others_out_until_it_is_old(backend, keys, monkeypatch):
    monkeypatch.setattr(objects, "TURN_ROUNDS", 1)

    def hangs() -> None:
        raise StorageUnavailable("Storage does not answer.")

    with pytest.raises(StorageUnavailable, match="does not answer"):
        create_by_turns(backend, LEDGER, hangs)
    with pytest.raises(StorageUnavailable, match="Another process"):
        create_by_turns(backend, LEDGER, lambda: pytest.fail("wrote"))
    assert [key.rpartition("/")[0] for key in keys()] == [FOLDER]

    monkeypatch.setattr(objects, "STALE_MARK", timedelta(seconds=-2))  # storage may round its times
    assert create_by_turns(backend, LEDGER, lambda: backend.write(LEDGER, [b"late"])) is True
    assert keys() == [LEDGER]


def test_a_writer_that_slept_before_it_wrote_looks_again(backend, monkeypatch):
    monkeypatch.setattr(objects, "TURN_ROUNDS", 1)
    monkeypatch.setattr(objects, "LONGEST_LOOK", 0.0)

    with pytest.raises(StorageUnavailable):
        create_by_turns(backend, LEDGER, lambda: pytest.fail("wrote"))
