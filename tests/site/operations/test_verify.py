"""`manage.py verify`: every published version, compared with what is stored."""

from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from apps.blobs.models import Blob
from apps.blobs.store import StorageUnavailable
from apps.releases.models import Release, State
from registry_site.operations import verifying
from tests.rows import for_each_row

BLOBS = Path(settings.DATA_DIR) / "blobs"


def problems():
    return [problem for checked in verifying.verify() for problem in checked.problems]


def test_what_is_as_it_was_published_is_sound(published):
    for number in range(3):
        published("acme/vpc/aws", f"1.{number}.0")
    out = StringIO()

    call_command("verify", stdout=out)

    assert "3 published versions checked: 0 damaged." in out.getvalue()
    assert len(list(verifying.verify(sample=2))) == 2


@for_each_row(
    ("act", "words"),
    [
        (lambda path: path.unlink(), "missing: expected"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"), "damaged: expected"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes are stored, expected"),
    ],
)
def test_bytes_that_are_gone_or_others_are_named(published, act, words):
    release = published()
    path = BLOBS / "sha256" / release.digest[:2] / release.digest
    path.chmod(0o600)
    act(path)

    assert any(words in problem for problem in problems())
    with pytest.raises(CommandError):
        call_command("verify", stdout=StringIO())


def test_a_blob_without_a_row_and_a_ledger_without_the_entry_are_named(published):
    release = published()
    Blob.objects.filter(digest=release.digest).delete()
    entry = next((BLOBS / "ledger").rglob("*.json"))
    entry.unlink()
    assert [problem.partition(": ")[2] or problem for problem in problems()] == [
        f"no row for sha256:{release.digest}",
        "the ledger has no entry",
    ]

    entry.write_text('{"digest": "0"}')
    assert problems()[-1] == "the ledger has sha256:0"


def lost():
    out = StringIO()
    with pytest.raises(CommandError, match="Versions that the database lost"):
        call_command("verify", "--ledger", stdout=out)
    return out.getvalue().splitlines()


@pytest.mark.both
def test_versions_that_storage_has_and_the_database_lost_are_listed(published):
    _, gone, purged = (published("acme/vpc/aws", f"1.{number}.0") for number in range(3))
    digest = gone.digest
    Release.objects.filter(pk=purged.pk).update(state=State.PURGED, digest="")
    out = StringIO()
    call_command("verify", "--ledger", stdout=out)
    assert out.getvalue() == "0 versions of the ledger are not in the database.\n"

    Release.objects.filter(pk=gone.pk).update(version="9.9.9", sort_key=b"9")
    path = BLOBS / "sha256" / digest[:2] / digest
    listed = f"module acme/vpc/aws 1.1.0: sha256:{digest}; its bytes are in storage"
    assert lost() == [listed, "1 versions of the ledger are not in the database."]

    path.unlink()
    assert lost()[0] == listed.replace("are in storage", "are not in storage")

    entry = next((BLOBS / "ledger").rglob("1.1.0.json"))
    entry.chmod(0o600)
    entry.write_text(entry.read_text().replace(f'"uploaded_digest": "{digest}"', '"uploaded_digest": "aa"'))
    assert "uploaded as sha256:aa;" in lost()[0]


def test_an_outage_of_storage_is_no_lost_version(published, monkeypatch):
    def away(*_):
        raise StorageUnavailable("Storage does not answer.")

    published()
    monkeypatch.setattr("apps.blobs.backends.local.LocalBackend.older", away)
    with pytest.raises(CommandError, match="Stopped: Storage does not answer"):
        call_command("verify", "--ledger", stdout=StringIO())
