"""The author of a backup, and what an unfinished restore leaves: the rules, without a whole backup."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from django.db import connection

from apps.blobs.care import copies
from registry_site.operations import authenticity, backup, backup_store
from registry_site.operations.backup import Manifest, Unusable
from registry_site.startup import restoring, schema
from registry_site.startup.bootstrap import CannotStartError
from tests.rows import for_each_row
from tests.site.operations.database_roles import WEB, role

STORED = {"backups/2026-01-31T021500Z/manifest.json", "backups/2026-01-31T021500Z/contents.json"}


@pytest.fixture
def folder(tmp_path) -> Path:
    """A backup of an empty Larder."""
    (tmp_path / backup.OBJECTS).write_text("")
    found = Manifest("2026-01-31", "1.0", "backup", "sqlite", {}, {})
    found.checksums = {backup.OBJECTS: copies.digest_of(tmp_path / backup.OBJECTS)}
    text = json.dumps(asdict(found)).encode()
    (tmp_path / authenticity.FILE).write_bytes(authenticity.proof_of(text))
    (tmp_path / backup.MANIFEST).write_bytes(text)
    return tmp_path


def read(folder, *, keys=None, is_trusted=False) -> list[str]:
    said: list[str] = []
    keys = authenticity.secret_keys() if keys is None else keys
    backup.read_manifest(folder, secret_keys=keys, is_trusted=is_trusted, say=said.append)
    return said


def test_this_larder_s_own_backup_is_read_without_a_word(folder):
    assert read(folder) == []


def test_a_changed_manifest_is_refused_before_it_is_read_as_json(folder):
    (folder / backup.MANIFEST).write_text("{ of a stranger")
    with pytest.raises(Unusable, match=r"does not prove that this Larder wrote it: its manifest\.mac was not made"):
        read(folder)
    with pytest.raises(Unusable, match="cannot be read"):
        read(folder, is_trusted=True)


@for_each_row(
    ("proof", "keys", "words"),
    [
        (None, None, "it has no manifest.mac"),
        ("hmac-sha256 00", None, "was not made with a secret key of this host"),
        ("hmac-sha1 00", None, "begins with 'hmac-sha1', expected hmac-sha256"),
        ("", None, "expected hmac-sha256"),
        (None, [], "it has no manifest.mac"),
        ("hmac-sha256 00", [], "this host has no secret key"),
    ],
)
def test_only_the_word_of_an_operator_takes_the_place_of_a_proof(folder, proof, keys, words):
    file = folder / authenticity.FILE
    file.unlink(missing_ok=True)
    if proof is not None:
        file.write_text(proof)
    with pytest.raises(Unusable) as refused:
        read(folder, keys=keys)
    assert words in str(refused.value)
    assert "--unauthenticated" in refused.value.hint
    [said] = read(folder, keys=keys, is_trusted=True)
    assert words in said
    assert "You answer for who wrote it" in said


def test_an_older_line_and_a_saved_file_prove_it_and_another_key_does_not(folder, settings):
    older, settings.SECRET_KEY = settings.SECRET_KEY, "n" * 50
    with pytest.raises(Unusable):
        read(folder)
    assert read(folder, keys=authenticity.secret_keys(f"another\n {older}\n")) == []
    settings.SECRET_KEY_FALLBACKS = ["m" * 50, older]
    assert read(folder) == []


def test_the_proof_tells_nothing_of_the_key_and_is_of_these_bytes(settings):
    proof = authenticity.proof_of(b"one")
    assert proof != authenticity.proof_of(b"two")
    assert settings.SECRET_KEY.encode() not in proof


def test_a_plain_backup_is_refused_where_all_are_encrypted(settings, monkeypatch):
    settings.BACKUP_RECIPIENT_FILE = "/etc/larder/recipients.asc"
    monkeypatch.setattr(backup_store, "_keys", lambda prefix: [key for key in STORED if key.startswith(prefix)])
    monkeypatch.setattr(backup_store, "_contents", lambda _: backup_store.Contents([], []))
    with (
        pytest.raises(Unusable, match="is not encrypted, and LARDER_BACKUP_RECIPIENT_FILE is set"),
        backup_store.fetched("newest", None, may_be_plain=False, say=lambda _: None),
    ):
        pass


# --- A restore that has begun ---


@pytest.fixture
def begun(folder, alice, monkeypatch) -> Path:
    """A restore of the folder, which was killed with the rows there; the storage is not looked at."""
    monkeypatch.setattr(copies, "is_empty", lambda: True)
    restoring.begin(copies.digest_of(folder / backup.MANIFEST), in_storage=False)
    return folder


@pytest.mark.both
def test_the_same_backup_may_be_restored_again_and_no_other(begun, tmp_path):
    assert list(backup.in_use(begun, storage_survived=True)) == []
    (begun / backup.MANIFEST).write_text("another one")
    [refusal] = backup.in_use(begun, storage_survived=True)
    assert "The restore of another backup" in str(refusal)


@pytest.mark.both
def test_nothing_starts_until_it_has_ended(begun, monkeypatch):
    monkeypatch.setattr(connection, "close", lambda: None)  # as a process does that then forks
    with pytest.raises(CannotStartError, match="begun and not ended"):
        restoring.require_none()
    with pytest.raises(CannotStartError, match="begun and not ended"):
        schema.require()

    restoring.end()

    restoring.require_none()
    assert restoring.begun() == ("", False)
    [refusal] = backup.in_use(begun, storage_survived=True)
    assert "is in use" in str(refusal)


@pytest.mark.both
@pytest.mark.needs("on PostgreSQL")
def test_a_role_that_may_not_read_the_mark_does_not_start_either(roles, begun):
    with role(WEB), pytest.raises(CannotStartError, match="begun and not ended"):
        restoring.require_none()


@pytest.mark.both
def test_that_the_rows_are_there_is_said_in_their_transaction(begun):
    assert restoring.begun()[1] is False
    restoring.rows_are_there()
    assert restoring.begun()[1] is True
    restoring.begin(restoring.begun()[0], in_storage=False)
    assert restoring.begun()[1] is True, "a second try does not forget it"


def test_a_storage_is_one_of_the_same_restore_or_in_use(begun, monkeypatch):
    monkeypatch.setattr(copies, "is_empty", lambda: False)
    [refusal] = backup.in_use(begun, storage_survived=False)
    assert "The storage of LARDER_STORAGE_URL is in use" in str(refusal)
    restoring.begin(restoring.begun()[0], in_storage=True)
    try:
        assert list(backup.in_use(begun, storage_survived=False)) == []
    finally:
        restoring.end()
    assert restoring.begun_in_storage() == ""
