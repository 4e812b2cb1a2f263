"""Commands that would fill a disk say so before they write anything."""

import shutil
from contextlib import nullcontext
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from registry_site.operations import backup, dump, rehearsal
from registry_site.startup import disk_space, schema
from registry_site.startup.bootstrap import CannotStartError

ROOM = "1,999 bytes free: expected at least"


@pytest.fixture
def full(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_999))


@pytest.mark.usefixtures("full")
def test_folders_of_one_disk_share_its_room(tmp_path):
    assert list(disk_space.lacking([(tmp_path / "none" / "yet", 1_000), (tmp_path, 999)])) == []
    [said] = disk_space.lacking([(tmp_path / "none" / "yet", 1_000), (tmp_path, 1_000)])
    assert ROOM in said


@pytest.mark.usefixtures("full")
def test_an_upgrade_is_refused_where_it_would_have_to_copy_tables(monkeypatch, tmp_path):
    database = tmp_path / "db.sqlite3"
    database.write_bytes(bytes(1_000))
    monkeypatch.setitem(connection.settings_dict, "NAME", database)
    monkeypatch.setattr(schema, "check_recorded", lambda: 1)
    with pytest.raises(CannotStartError, match=f"{ROOM} 2,000.*Nothing was changed"):
        schema.Migrate().begin()

    monkeypatch.setattr(schema, "check_recorded", lambda: 0)
    schema.Migrate().begin()


def test_a_backup_and_a_restore_are_refused(published, monkeypatch, full, tmp_path):
    monkeypatch.setattr(dump, "snapshot", lambda: nullcontext("default"))
    release = published()
    call_command("backup", str(tmp_path / "linked"), stdout=StringIO())  # links take no room
    manifest = backup.read_manifest(tmp_path / "linked", secret_keys=[], is_trusted=True, say=print)
    assert release.digest in manifest.blobs

    manifest.blobs[release.digest] = 2_000_000
    with pytest.raises(backup.Unusable, match=f"{ROOM} 2,"):
        rehearsal.require_room(tmp_path / "linked", manifest)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    with pytest.raises(CommandError, match="1 bytes free: expected at least"):
        call_command("backup", str(tmp_path / "copied"), "--copy", stdout=StringIO())
