"""The output of `manage.py check_storage`, and its exit code."""

import hashlib
import io
import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.blobs import store
from apps.blobs.care import scrub
from apps.blobs.models import Blob

pytestmark = pytest.mark.django_db
RIGHT, WRONG, GONE, ALONE = (hashlib.sha256(name).hexdigest() for name in (b"right", b"wrong", b"gone", b"alone"))


@pytest.fixture
def folder(settings, tmp_path: Path) -> Path:
    settings.STORAGE_URL = f"file://{tmp_path / 'blobs'}"
    for data in (b"right", b"wrong", b"gone"):
        staged = store.stage("one", [data])
        store.store_staged("one", digest=staged.digest, size=staged.size)
        store.discard_staged("one")
    return tmp_path / "blobs"


def path_of(folder: Path, digest: str) -> Path:
    return folder / "sha256" / digest[:2] / digest


def lay(folder: Path, data: bytes) -> Path:
    path = path_of(folder, hashlib.sha256(data).hexdigest())
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(data)
    os.utime(path, (0, 0))
    return path


def told(*options: str) -> str:
    out = io.StringIO()
    call_command("check_storage", *options, stdout=out)
    return out.getvalue()


def test_where_all_is_right_it_says_so_and_succeeds_and_a_short_run_says_that_there_is_more(folder, monkeypatch):
    assert told() == (
        "Read 3 blobs with 14 bytes: 0 missing, 0 damaged, 0 repaired.\n"
        "Listed 0 objects older than a day: 0 orphans, 0 removed.\n"
        "Objects are created only once by hard links.\n"
    )
    monkeypatch.setattr(scrub, "MAX_DURATION", scrub.MAX_DURATION * 0)
    assert told().endswith("More remain: the next run continues, or --whole reads to the end.\n")
    assert "more" not in told("--whole")


def test_it_names_what_is_wrong_and_fails(folder):
    path_of(folder, WRONG).chmod(0o600)
    path_of(folder, WRONG).write_bytes(b"wRong")
    path_of(folder, GONE).unlink()
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"missing or damaged: 2\. See docs/operations/storage\.md") as failed:
        call_command("check_storage", "--whole", stdout=out)

    assert failed.value.returncode == 1
    assert out.getvalue() == (
        "Read 3 blobs with 14 bytes: 1 missing, 1 damaged, 0 repaired.\n"
        "Listed 0 objects older than a day: 0 orphans, 0 removed.\n"
        "Objects are created only once by hard links.\n"
        f"damaged sha256:{WRONG}\n"
        f"missing sha256:{GONE}\n"
    )


def test_what_was_found_before_is_wrong_until_it_is_right(folder, monkeypatch):
    path_of(folder, GONE).unlink()
    with pytest.raises(CommandError):
        told()
    monkeypatch.setattr(scrub, "MAX_DURATION", scrub.MAX_DURATION * 0)
    with pytest.raises(CommandError, match="missing or damaged: 1"):
        told()
    path_of(folder, GONE).write_bytes(b"gone")

    assert "0 missing, 0 damaged, 1 repaired." in told("--whole")


def test_orphans_are_named_and_go_only_when_it_is_asked_for(folder):
    path = lay(folder, b"alone")
    said = told()

    assert "Listed 1 objects older than a day: 1 orphans, 0 removed.\n" in said
    assert said.endswith(f"orphan sha256:{ALONE}\n")
    assert path.exists()
    assert "1 orphans, 1 removed." in told("--remove-orphans")
    assert not path.exists()


def test_of_many_findings_the_first_are_named(folder):
    for number in range(30):
        lay(folder, b"alone %d" % number)
    Blob.objects.bulk_create(
        Blob(digest=hashlib.sha256(b"%d" % number).hexdigest(), size=1, state="ready") for number in range(25)
    )
    out = io.StringIO()
    with pytest.raises(CommandError, match="missing or damaged: 25"):
        call_command("check_storage", stdout=out)

    lines = out.getvalue().splitlines()
    assert len([line for line in lines if line.startswith("missing sha256:")]) == 20
    assert len([line for line in lines if line.startswith("orphan sha256:")]) == 20
    assert [line for line in lines if "more" in line] == ["… and 5 more", "orphan … and 10 more"]


def test_an_outage_is_said_and_is_no_finding(folder, settings, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    settings.STORAGE_URL = f"file://{tmp_path / 'file'}"
    with pytest.raises(CommandError, match="The check stopped early: The disk for uploads failed"):
        told()

    assert not Blob.objects.exclude(problem="").exists()
