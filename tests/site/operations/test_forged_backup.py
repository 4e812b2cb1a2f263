"""Backups at LARDER_BACKUP_URL that someone else wrote: whole ones.

test_authenticity.py has the rules.
"""

import json

import pytest

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


def test_a_table_without_a_checksum_is_refused_even_of_an_own_backup(place, published, settings, operator):
    published("acme/vpc/aws", "1.0.0")
    run()
    name = forged(place, checksums={"objects.jsonl": "0" * 64})
    settings.BACKUP_RECIPIENT_FILE = str(operator.public)  # since then all are encrypted

    words = ("--from", name, "--dry-run", "--unauthenticated", "--plain")
    assert "has no checksum of tables/" in refusal(*words, command="restore")
