"""What one process of a host has hashed, the others send without a second look, unless it was written since."""

import hashlib
import os
import time
from pathlib import Path

import pytest
from django.utils import timezone

from apps.blobs import backends, ingest, store
from apps.blobs.care import verified_files as module
from apps.blobs.care.verified_files import FOLDER, LARGE, LIFETIME, verified_files
from apps.blobs.models import State
from apps.lib.formats.fingerprints import Fingerprint

DATA = os.urandom(LARGE)


@pytest.fixture
def as_another_process(monkeypatch):
    return lambda: monkeypatch.setattr(verified_files, "_found", {})


def mark_of(digest: str) -> Path:
    path = backends.current().path(f"{FOLDER}/{digest}")
    assert path is not None
    return path


def taken_in(data: bytes = DATA) -> str:
    with ingest.receive([data]) as arrival:
        blob = ingest.claim(arrival.fingerprint)
        arrival.store()
    ingest.mark_ready(blob)
    return blob.digest


def published(data: bytes = DATA) -> str:
    """As a worker stores what was staged."""
    staged = store.stage("a-module", [data])
    store.store_staged("a-module", digest=staged.digest, size=staged.size)
    store.discard_staged("a-module")
    return staged.digest


def mirrored(data: bytes = DATA) -> str:
    """As a package of another registry arrives."""
    staged = store.stage("a-package", [data])
    arrival = ingest.staged("a-package", Fingerprint(staged.digest, "", staged.size), is_hashed=True)
    blob = ingest.claim(arrival.fingerprint)
    arrival.store()
    ingest.mark_ready(blob)
    store.discard_staged("a-package")
    return staged.digest


@pytest.mark.parametrize("arrive", [taken_in, published, mirrored])
def test_a_large_file_that_one_process_hashed_is_sent_by_another_at_once(arrive, db, as_another_process):
    digest = arrive()
    as_another_process()

    assert store.verified_file(digest) is not None


def test_a_file_that_was_written_since_is_hashed_again(db, as_another_process):
    digest = taken_in()
    verified = store.verified_file(digest)
    assert verified is not None
    path = verified.path
    before = path.stat()
    path.chmod(0o600)
    path.write_bytes(DATA[:-1] + bytes([DATA[-1] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    as_another_process()

    assert store.verified_file(digest) is None


def test_a_staged_file_that_one_process_hashed_is_stored_by_another_without_reading_it(
    db, as_another_process, monkeypatch
):
    staged = store.stage("a-module", [DATA])
    as_another_process()
    monkeypatch.setattr(hashlib, "file_digest", None)

    assert store.store_staged("a-module", digest=staged.digest, size=staged.size).state == State.READY


def test_a_staged_file_that_was_written_since_is_hashed_again(db):
    staged = store.stage("a-module", [DATA])
    path = backends.current().path("staging/a-module")
    assert path is not None
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # a clock of some milliseconds
        path.write_bytes(DATA[:-1] + bytes([DATA[-1] ^ 1]))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(store.Damaged):
        store.store_staged("a-module", digest=staged.digest, size=staged.size)


def test_a_staged_file_that_was_replaced_before_its_first_name_went_is_not_trusted(db, as_another_process):
    staged = store.stage("a-module", [DATA])
    store.store_staged("a-module", digest=staged.digest, size=staged.size)
    path = backends.current().path(f"sha256/{staged.digest[:2]}/{staged.digest}")
    assert path is not None
    path.unlink()
    path.write_bytes(DATA)
    store.discard_staged("a-module")

    assert store.verified_file(staged.digest) is None


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda text: text.replace(text[:4], "AAAA", 1), id="changed"),
        pytest.param(lambda text: "", id="empty"),  # noqa: ARG005
        pytest.param(lambda text: text.rpartition(":")[0], id="unsigned"),
    ],
)
def test_a_mark_that_larder_did_not_sign_counts_for_nothing(spoil, db, as_another_process):
    digest = taken_in()
    mark = mark_of(digest)
    mark.write_text(spoil(mark.read_text()))
    as_another_process()

    assert store.verified_file(digest) is None


def test_the_mark_of_another_file_another_boot_or_an_hour_ago_counts_for_nothing(db, as_another_process, monkeypatch):
    digest, other = taken_in(), taken_in(DATA[::-1])
    mark, others = (mark_of(digest), mark_of(other))
    own = mark.read_text()

    mark.write_text(others.read_text())
    as_another_process()
    assert store.verified_file(digest) is None

    mark.write_text(own)
    with monkeypatch.context() as patched:
        patched.setattr(module, "_boot", lambda: "another")
        assert store.verified_file(digest) is None
    with monkeypatch.context() as patched:
        now = time.monotonic()
        patched.setattr(time, "monotonic", lambda: now + LIFETIME + 1)
        assert store.verified_file(digest) is None


def test_small_files_leave_no_mark_and_old_marks_are_swept(db, as_another_process, settings):
    small, large = taken_in(b"small"), taken_in()
    folder = settings.DATA_DIR / "blobs" / FOLDER
    assert not (folder / small).exists()
    os.utime(folder / large, (0, 0))

    store.sweep(now=timezone.now())
    assert not (folder / large).exists()
    assert store.verified_file(large) is not None
