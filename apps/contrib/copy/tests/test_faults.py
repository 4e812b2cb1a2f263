"""A writer that is killed at any step, meets another one, or finds a full disk, leaves nothing half."""

import json
import os
from pathlib import Path

import pytest

from apps.accounts.access.gate import Viewer
from apps.blobs import store
from apps.blobs.store import StorageUnavailable
from apps.contrib.copy.models import Copy, Due, Written
from apps.contrib.copy.tree import folders
from apps.contrib.copy.tree.folders import Busy, Folder
from apps.contrib.copy.writing import following, writer
from apps.contrib.copy.writing.writer import FenceLost
from apps.jobs.claims import Claim, Outage
from apps.releases.lifecycle import verbs

CLAIM = Claim(job_id=1, kind=following.JOB, target=0, attempt=1, fence=1, exhausted=False)


class Killed(BaseException):
    """What ends a process is no error that code handles."""


def promises(tree: Path) -> list[str]:
    """Return every file that a document names, and that is not there."""
    missing = []
    for listed in tree.rglob("versions"):
        for one in json.loads(listed.read_bytes())["modules"][0]["versions"]:
            download = listed.with_name(one["version"]) / "download"
            if not download.exists():
                missing.append(str(download))
    for download in tree.rglob("download"):
        location = json.loads(download.read_bytes())["location"].partition("?")[0]
        side = download.relative_to(tree).parts[0]
        missing += [location] if not (tree / side / location.lstrip("/")).exists() else []
    return missing


@pytest.fixture
def dies_at(monkeypatch):
    """The process ends at the call of that number that changes the disk."""

    def begin(number: int) -> None:
        calls = [0]

        def counted(act):
            def acting(*given, **more):
                calls[0] += 1
                if calls[0] == number:
                    raise Killed
                return act(*given, **more)

            return acting

        for name in ("replace", "unlink", "write_bytes", "rmdir"):
            monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
        monkeypatch.setattr(os, "link", counted(os.link))

    return begin


@pytest.mark.slow
@pytest.mark.parametrize("act", ["publish", "purge", "hide"])
def test_a_writer_that_dies_at_any_step_leaves_no_promise_open_and_the_next_one_ends_it(
    act, published, acme, tree, follow, files, olga, dies_at, monkeypatch
):
    acme.visibility = "public"
    acme.save()
    published()
    last = published("acme/vpc/aws", "1.3.0")
    follow()
    if act == "publish":
        published("acme/vpc/aws", "1.4.0")
    elif act == "purge":
        verbs.quarantine(release=last, actor=Viewer(olga), reason="It holds a key.")
    else:
        acme.visibility = "private"
        acme.save()
        Due.objects.create(scope="namespace acme")
    number, has_died = 1, True
    while has_died:
        with monkeypatch.context():
            dies_at(number)
            try:
                follow()
                has_died = False
            except Killed:
                number += 1
        assert promises(tree) == [], f"killed at step {number}"

    assert number > 3
    assert not Due.objects.exists()
    assert not Written.objects.exclude(was=b"").exists()
    expected = {"publish": 3, "purge": 1, "hide": 2}[act]
    assert len(list(tree.rglob("packages/modules/acme/vpc/aws/*.zip"))) == expected
    assert (act == "hide") == (files("public") == [".well-known/terraform.json"])


def test_a_full_disk_is_said_and_waited_out(published, tree, follow, monkeypatch):
    published()
    follow()
    published("acme/vpc/aws", "1.3.0")
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))

    with pytest.raises(Outage, match="The disk of the static copy is full"):
        following.run(CLAIM)

    copy = Copy.objects.get()
    assert copy.failure == "The disk of the static copy is full."
    assert copy.failing_since is not None
    assert Due.objects.exists()
    assert promises(tree) == []
    monkeypatch.undo()
    follow()
    copy.refresh_from_db()
    assert copy.failure == ""
    assert not Copy.objects.exclude(failing_since=None).exists()


def test_of_two_writers_the_second_is_refused(tree, db):
    url = f"file://{tree}"

    with writer.opened(url), pytest.raises(Busy, match="Another process is writing this copy"), writer.opened(url):
        pass


def test_a_writer_whose_number_is_old_writes_nothing_more(published, tree, follow, files):
    published()
    with writer.opened(f"file://{tree}") as own:
        Copy.objects.update(fence=own.copy.fence + 1)  # it slept, and another one has begun
        with pytest.raises(FenceLost):
            following.sweep_step(own, following.everything(own.copy))

    assert files() == []


def test_bytes_that_cannot_be_read_keep_no_other_address_back(published, tree, follow, files):
    damaged = published()
    published("acme/eks/aws", "1.0.0")
    source = store.path_of(damaged.digest)
    assert source is not None
    source.unlink()

    own = follow()

    assert list(own.broken) == ["modules/acme/vpc/aws"]
    assert "is not in storage" in Copy.objects.get().failure
    assert [path for path in files("private") if path.startswith("packages")] == [
        "packages/modules/acme/eks/aws/1.0.0.zip"
    ]
    assert promises(tree) == []


def test_a_folder_that_is_not_there_is_said(tree, db, monkeypatch):
    monkeypatch.setattr(Path, "mkdir", lambda *_, **__: (_ for _ in ()).throw(OSError(30, "Read-only file system")))

    with pytest.raises(StorageUnavailable, match=r"cannot be written \(EROFS\)"), writer.opened(f"file://{tree}"):
        pass


def test_unfinished_files_of_a_dead_writer_are_removed(tree, follow):
    follow()
    left = tree / folders.WRITING / "1-1.part"
    left.write_bytes(b"half")

    with Folder(tree).held():
        assert not left.exists()
