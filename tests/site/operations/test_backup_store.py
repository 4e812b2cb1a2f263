"""Backups at LARDER_BACKUP_URL, in this process: what is sent, what stays, what is refused."""

import fcntl
import json
import subprocess
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.blobs import backends
from apps.blobs.backends.local import LocalBackend
from apps.blobs.care import copies
from apps.blobs.models import Blob
from registry_site.operations import dump
from registry_site.startup import bootstrap
from tests.builders.recipients import recipient

pytestmark = pytest.mark.slow  # each backup has about 80 files, each synced


@pytest.fixture
def place(settings, tmp_path, db, monkeypatch) -> Path:
    # A second connection sees nothing of a test's transaction: tests/site/operations/test_backup.py has the real one.
    monkeypatch.setattr(dump, "snapshot", lambda: nullcontext("default"))
    settings.BACKUP_URL = f"file://{tmp_path / 'backups'}"
    settings.BACKUP_KEEP = 2
    return tmp_path / "backups"


@pytest.fixture
def clock(time_machine):
    time_machine.move_to("2026-01-31T02:15:00Z", tick=True)
    return time_machine


@pytest.fixture(scope="module")
def operator(tmp_path_factory):
    return recipient(tmp_path_factory.mktemp("operator"))


def run(command="backup", *arguments) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def refusal(*arguments, command="backup") -> str:
    with pytest.raises(CommandError) as refused:
        run(command, *arguments)
    return str(refused.value)


def files(place, folder="") -> set[str]:
    return {str(path.relative_to(place)) for path in (place / folder).rglob("*") if path.is_file()}


def rehearsed(*arguments) -> str:
    """Return the output of a dry run of the backup; this Larder is in use, so it ends with that."""
    out = StringIO()
    with pytest.raises(CommandError, match="is in use"):
        call_command("restore", "--dry-run", *arguments, stdout=out)
    return out.getvalue()


def test_without_a_folder_or_a_url_it_says_what_to_set(settings, db):
    settings.BACKUP_URL = ""

    assert refusal() == "Name a new folder, or set LARDER_BACKUP_URL."
    assert refusal("--list") == "Name a new folder, or set LARDER_BACKUP_URL."
    assert "--from newest" in refusal(command="restore")


@pytest.mark.both
def test_each_backup_sends_only_new_blobs_and_can_be_restored_alone(place, published):
    published("acme/vpc/aws", "1.0.0")
    first = run()
    published("acme/vpc/aws", "1.1.0")
    second = run()

    assert "1 of the blobs are new" in first
    assert "1 of the blobs are new" in second
    assert "Not encrypted" in first
    assert len(files(place, "blobs")) == 2
    for number, name in enumerate(run("backup", "--list").split(), 1):
        assert f"{number} blobs" in rehearsed("--from", name)
    assert "2 of the blobs are new" in run("backup", "--copy")


@pytest.mark.both
def test_old_backups_go_with_the_blobs_that_only_they_need(place, published, clock):
    purged = published("acme/vpc/aws", "1.0.0")
    run()
    old = files(place, "blobs")
    Blob.objects.filter(digest=purged.digest).delete()
    published("acme/vpc/aws", "1.1.0")
    extra = place / "blobs/plain/sha256/ab" / ("ab" * 32)
    extra.parent.mkdir(parents=True)
    extra.write_bytes(b"of a backup that was interrupted")
    clock.shift(86_400)
    run()
    assert not extra.exists()
    assert len(files(place, "blobs")) == 2
    clock.shift(86_400)
    said = run()

    assert [name[:10] for name in run("backup", "--list").split()] == ["2026-02-01", "2026-02-02"]
    assert "1 older backups" in said
    assert len(files(place, "blobs")) == 1
    assert not old & files(place, "blobs")
    assert {path.split("/")[1] for path in files(place, "backups")} == set(run("backup", "--list").split())


@pytest.mark.parametrize("is_sealed", [False, True])
def test_a_backup_that_was_interrupted_at_any_object_is_none(
    place, published, clock, monkeypatch, settings, operator, is_sealed
):
    settings.BACKUP_RECIPIENT_FILE = str(operator.public) if is_sealed else ""
    published("acme/vpc/aws", "1.0.0")
    run()
    [good] = run("backup", "--list").split()
    count = len(files(place, "backups"))
    write = LocalBackend.write
    published("acme/vpc/aws", "1.1.0")
    for number in (0, 1, count // 2, count - 2, count - 1):  # the last one lacks its manifest alone
        clock.shift(86_400)
        left = [number]

        def stops(self, key, chunks, left=left):
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            write(self, key, chunks)

        monkeypatch.setattr(LocalBackend, "write", stops)
        with pytest.raises(KeyboardInterrupt):
            run()
        monkeypatch.setattr(LocalBackend, "write", write)
        assert run("backup", "--list").split() == [good], number

    clock.shift(86_400)
    run()
    names = run("backup", "--list").split()
    assert len(names) == 2
    assert {path.split("/")[1] for path in files(place, "backups")} == set(names), "the parts are gone"
    assert len(files(place, "blobs")) == 2


def test_a_backup_that_lacks_an_object_does_not_count_as_one_to_keep(place, published, clock):
    published("acme/vpc/aws", "1.0.0")
    for _ in range(2):
        run()
        clock.shift(86_400)
    whole, damaged = run("backup", "--list").split()
    (place / "backups" / damaged / "objects.jsonl").unlink()

    said = run()

    assert f"{damaged} lacks objects and cannot be restored" in said
    assert run("backup", "--list").split()[0] == whole
    refused = refusal("--from", damaged, "--dry-run", command="restore")
    assert f"LARDER_BACKUP_URL has lost backups/{damaged}/objects.jsonl" in refused
    assert "manage.py backup --list" in refused


def test_a_lost_blob_is_sent_again_by_the_next_backup(place, published):
    published("acme/vpc/aws", "1.0.0")
    run()
    [blob] = (path for path in (place / "blobs").rglob("*") if path.is_file())
    blob.unlink()
    assert "has lost blobs/plain/sha256/" in refusal("--from", "newest", "--dry-run", command="restore")

    assert "1 of the blobs are new" in run()
    assert "The backup is whole" in rehearsed("--from", "newest")


def test_contents_that_lead_elsewhere_are_refused(place, published, tmp_path):
    published("acme/vpc/aws", "1.0.0")
    run()
    [contents] = place.rglob("contents.json")
    name, found = contents.parent.name, json.loads(contents.read_text())
    for key in (f"backups/{name}/../../../escaped", "/etc/passwd", "sha256/ab/x"):
        contents.write_text(json.dumps(found | {"files": [key]}))
        assert "contents.json of the backup" in refusal("--from", name, "--dry-run", command="restore")
        assert "contents.json of the backup" in refusal(), "and it deletes nothing"
    assert not (tmp_path / "escaped").exists()


def test_an_encrypted_backup_has_nothing_readable_and_opens_only_with_the_key(
    place, published, settings, operator, tmp_path
):
    other = recipient(tmp_path, "other")
    settings.BACKUP_RECIPIENT_FILE = str(operator.public)
    release = published("acme/vpc/aws", "1.0.0")
    run()

    readable = {path for path in files(place) if not path.endswith(".gpg")}
    assert {path.rpartition("/")[2] for path in readable} == {"contents.json"}
    for path in files(place):
        assert b"acme" not in (place / path).read_bytes()
    assert any(release.digest in path for path in files(place, "blobs"))
    said = rehearsed("--from", "newest", "--private-key", str(operator.private))
    assert "The backup is whole" in said
    refused = refusal("--from", "newest", "--dry-run", "--private-key", str(other.private), command="restore")
    assert "No secret key" in refused
    assert "--private-key FILE" in refused


def test_gpgs_own_home_decrypts_as_well(place, published, settings, operator, monkeypatch, tmp_path):
    home = tmp_path / "gpg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    subprocess.run(["gpg", "--batch", "--import", operator.private], check=True, capture_output=True)
    settings.BACKUP_RECIPIENT_FILE = str(operator.public)
    published("acme/vpc/aws", "1.0.0")
    try:
        run()
        assert "The backup is whole" in rehearsed("--from", "newest")
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=True)


def test_every_recipient_of_the_file_can_decrypt(place, published, settings, operator, tmp_path):
    other, both = recipient(tmp_path, "other"), tmp_path / "both.asc"
    both.write_text(operator.public.read_text() + other.public.read_text())
    settings.BACKUP_RECIPIENT_FILE = str(operator.public)
    published("acme/vpc/aws", "1.0.0")
    run()

    settings.BACKUP_RECIPIENT_FILE = str(both)
    assert "1 of the blobs are new" in run(), "the new recipient could not read the old object"
    for one in (operator, other):
        assert "whole" in rehearsed("--from", "newest", "--private-key", str(one.private))


def test_unusable_recipients_are_refused_with_what_to_do_and_nothing_is_sent(place, published, settings, tmp_path):
    published("acme/vpc/aws", "1.0.0")
    signs = recipient(tmp_path, "signs", "sign")
    (tmp_path / "text").write_text("no key")
    for file, words in (
        (tmp_path / "missing", "cannot be read: No such file"),
        (tmp_path / "text", "has no public key that gpg can read. Export"),
        (signs.private, "has a private key: expected public keys alone. Take it off this host"),
        (signs.public, "gpg cannot encrypt to the keys of"),
    ):
        settings.BACKUP_RECIPIENT_FILE = str(file)
        assert words in refusal()
        assert files(place) == set()


def test_a_storage_of_backups_that_fails_and_a_full_disk_are_named(place, published, monkeypatch):
    def fail(error):
        raise error

    published("acme/vpc/aws", "1.0.0")
    with monkeypatch.context() as patch:
        away = backends.StorageUnavailable("Storage is unreachable (EndpointConnectionError).")
        patch.setattr(LocalBackend, "write", lambda *_: fail(away))
        refused = refusal()
    assert refused.startswith("The storage of LARDER_BACKUP_URL failed: Storage is unreachable"), "not Larder's own"
    assert "list, read, write and delete there" in refused

    full = OSError(28, "No space left on device", "/tmp/larder-backup-x/blob")
    monkeypatch.setattr(copies, "save_blob", lambda *_, **__: fail(full))
    assert refusal() == (
        "/tmp/larder-backup-x/blob: No space left on device. Free space there, or give this process access. TMPDIR "
        "names the folder of temporary files."
    )


def test_objects_that_vanish_while_a_backup_is_written_make_it_none(place, published, monkeypatch):
    published("acme/vpc/aws", "1.0.0")
    write = LocalBackend.write

    def swallows(self, key, chunks):
        if not key.startswith("blobs/"):
            write(self, key, chunks)

    monkeypatch.setattr(LocalBackend, "write", swallows)
    assert "LARDER_BACKUP_URL lost 1 objects while the backup was written: blobs/plain/" in refusal()
    assert run("backup", "--list") == ""


@pytest.mark.both
@pytest.mark.needs("on SQLite")
def test_a_second_backup_waits_for_its_turn(place, published, settings):
    with (Path(settings.DATA_DIR) / "backup.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert refusal() == "Another backup is running. Wait until it has ended."


@pytest.mark.both
@pytest.mark.needs("on PostgreSQL")
def test_a_second_backup_on_another_host_waits_for_its_turn(place, published, tmp_path):
    with bootstrap.one_backup_at_a_time(tmp_path):
        assert refusal() == "Another backup is running. Wait until it has ended."
    run()
