"""Backups at LARDER_BACKUP_URL that someone else wrote, that are old, or that are not encrypted: whole ones.

test_authenticity.py has the rules.
"""

import json

import pytest

from registry_site.operations import backup
from tests.site.operations.test_backup_store import operator, place, refusal, rehearsed, run

__all__ = ["operator", "place"]
pytestmark = pytest.mark.slow  # each backup has about 80 files, each synced


def forged(place, **changes) -> str:
    """Change the newest backup, and every checksum with it, like an attacker who can write to the bucket; return its
    name.
    """
    name = run("backup", "--list").split()[-1]
    file = place / "backups" / name / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return name


@pytest.mark.both
def test_a_backup_that_someone_else_wrote_is_refused_before_a_byte_of_it_is_believed(place, published, settings):
    published("acme/vpc/aws", "1.0.0")
    run()
    assert "The backup is whole" in rehearsed("--from", "newest")

    name = forged(place, larder="of a stranger")
    refused = refusal("--from", name, "--dry-run", command="restore")
    assert "does not prove that this Larder wrote it" in refused
    assert "manifest.mac was not made with a secret key of this host" in refused
    assert "--keys FILE" in refused
    said = rehearsed("--from", name, "--unauthenticated")
    assert "Not authenticated: its manifest.mac was not made with" in said
    assert "by Larder of a stranger" in said
    for text, words in (("md5 00", "begins with 'md5'"), ("", "expected hmac-sha256"), ("\u00e9", "cannot be read")):
        (place / "backups" / name / "manifest.mac").write_text(text)
        assert words in refusal("--from", name, "--dry-run", command="restore")


def test_a_backup_of_an_earlier_larder_needs_the_word_of_an_operator(place, published):
    published("acme/vpc/aws", "1.0.0")
    run()
    [proof] = place.rglob("manifest.mac")
    proof.unlink()
    [contents] = place.rglob("contents.json")
    found = json.loads(contents.read_text())
    found["files"] = [key for key in found["files"] if not key.endswith("manifest.mac")]
    contents.write_text(json.dumps(found))

    assert "it has no manifest.mac" in refusal("--from", "newest", "--dry-run", command="restore")
    assert "Not authenticated: it has no manifest.mac" in rehearsed("--from", "newest", "--unauthenticated")


def test_an_older_line_of_the_secret_key_and_a_file_of_keys_prove_a_backup(
    place, published, settings, tmp_path, monkeypatch
):
    published("acme/vpc/aws", "1.0.0")
    run()
    older = settings.SECRET_KEY
    settings.SECRET_KEY = "n" * 50
    assert "was not made with" in refusal("--from", "newest", "--dry-run", command="restore")

    settings.SECRET_KEY_FALLBACKS = [older]
    assert "The backup is whole" in rehearsed("--from", "newest")
    settings.SECRET_KEY_FALLBACKS = []
    new_host = {"secret_key": tmp_path / "none", "kek": tmp_path / "none"}
    monkeypatch.setattr(backup, "key_files", lambda: new_host)
    keys = tmp_path / "keys"
    keys.write_text(json.dumps({"secret_key": f"another one\n{older}\n"}))
    assert "The backup is whole" in rehearsed("--from", "newest", "--keys", str(keys))


def test_a_table_without_a_checksum_is_refused_even_of_an_own_backup(place, published, settings):
    published("acme/vpc/aws", "1.0.0")
    run()
    name = forged(place, checksums={"objects.jsonl": "0" * 64})

    assert "has no checksum of tables/" in refusal("--from", name, "--dry-run", "--unauthenticated", command="restore")


def test_a_plain_backup_is_refused_where_backups_are_encrypted(place, published, settings, operator):
    """A stolen bucket cannot swap an encrypted one for a plain one of its own."""
    published("acme/vpc/aws", "1.0.0")
    run()
    settings.BACKUP_RECIPIENT_FILE = str(operator.public)

    refused = refusal("--from", "newest", "--dry-run", command="restore")
    assert "is not encrypted, and LARDER_BACKUP_RECIPIENT_FILE is set" in refused
    assert "The backup is whole" in rehearsed("--from", "newest", "--plain")
