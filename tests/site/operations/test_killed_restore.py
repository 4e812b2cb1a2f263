"""A restore that is killed at each step, and repeated: it ends as if it had run once. Until then nothing starts."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection

from registry_site.operations import dump
from tests import postgres
from tests.live import CHECKOUT
from tests.site.operations.stopped import Stopped

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.both]

# By module and function; the restore dies instead of calling it.
STEPS = {
    "before anything is stored": ("apps.blobs.care.copies", "load_blob"),
    "with the blobs": ("apps.blobs.care.copies", "load_object"),
    "before the tables": ("registry_site.operations.dump", "_load_rows"),
    "with the rows, before their commit": ("registry_site.startup.restoring", "rows_are_there"),
    "with the rows": ("registry_site.startup.schema", "bring_up_to_date"),
    "with the newest tables": ("apps.accounts.access.staff_roles", "bring_up_to_date"),
    "before access is taken back": ("apps.accounts.access.epoch", "suspend"),
    "before its mark goes": ("registry_site.startup.restoring", "end"),
}
DIES = """
import os, signal, sys, django
from importlib import import_module
from registry_site import env
env.use_settings()
django.setup()
module, name, *words = sys.argv[1:]
setattr(import_module(module), name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
import_module("django.core.management").call_command(*words)
"""


def backup_to(folder: Path) -> Path:
    call_command("backup", str(folder), "--copy", stdout=StringIO())
    return folder


@pytest.fixture
def saved(published, monkeypatch, tmp_path) -> Path:
    """Two backups, one version later than the other."""
    monkeypatch.setattr(dump, "snapshot", lambda: nullcontext("default"))
    for number in range(2):
        published("acme/vpc/aws", f"1.{number}.0")
        backup_to(tmp_path / f"backup-{number}")
    return tmp_path


@pytest.fixture
def target(tmp_path) -> Iterator[Stopped]:
    elsewhere = {"LARDER_DATABASE_URL": postgres.Server().url} if connection.vendor == "postgresql" else {}
    larder = Stopped(tmp_path / "target", settings.SECRET_KEY, **elsewhere)
    yield larder
    larder.end()


def killed(larder: Stopped, folder: Path, step: str) -> None:
    command = [sys.executable, "-c", DIES, *STEPS[step], "restore", str(folder)]
    done = subprocess.run(command, cwd=CHECKOUT, env=larder.environment, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, f"{step}: {done.stdout}{done.stderr}"


def test_it_is_repeated_after_each_kill_and_nothing_starts_before_it_has_ended(saved, target):
    for step in STEPS:
        killed(target, saved / "backup-0", step)
        status, _, errors = target.run("migrate")
        assert (status, "has begun and not ended" in errors) == (1, True), step
    status, _, errors = target.run("worker")
    assert (status, "Run the same restore again" in errors) == (1, True)
    status, _, errors = target.run("restore", str(saved / "backup-1"))
    assert (status, "The restore of another backup" in errors) == (1, True)
    assert "It can be restored here" in target.manage("restore", str(saved / "backup-0"), "--dry-run")

    said = target.manage("restore", str(saved / "backup-0"))

    assert "Continuing a restore" in said
    assert "1 published versions checked: 0 damaged." in said
    target.manage("migrate")
    assert "rows are unchanged" in target.manage("audit", "verify")
    for number in range(2):
        status, _, errors = target.run("restore", str(saved / f"backup-{number}"))
        assert (status, "is in use" in errors) == (1, True)


def test_a_storage_that_has_something_else_is_not_written_over(saved, target):
    """The mark in storage is of one backup, and the database was emptied in between."""
    killed(target, saved / "backup-0", "with the blobs")
    if connection.vendor == "sqlite":
        for file in target.data_dir.glob("db.sqlite3*"):
            file.unlink()
    status, _, errors = target.run("restore", str(saved / "backup-1"))
    assert (status, "is in use" in errors or "another backup" in errors) == (1, True)
    assert ": 0 damaged." in target.manage("restore", str(saved / "backup-0"))
