"""A purge from end to end: the rows at once, the bytes by a worker, the number never again."""

import hashlib
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.blobs.models import Blob
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle, publishing
from apps.modules.models import ModuleCall, ModuleVersion
from apps.releases.lifecycle import purging
from apps.releases.models import DownloadCount, Release
from apps.releases.tasks import purge_blob
from tests.builders.archives import module_zip
from tests.rows import for_each_row

PATH = "/api/v1/modules/acme/vpc/aws/1.2.0"
DATA = module_zip(comment=b"to be purged")
DIGEST = hashlib.sha256(DATA).hexdigest()
KEY = f"sha256/{DIGEST[:2]}/{DIGEST}"
LEDGER = "ledger/module/acme/vpc/aws/1.2.0.json"


@pytest.fixture
def purge(olga):
    def do(address="acme/vpc/aws", version="1.2.0"):
        where, confirm = ModuleAddress.parse(address), f"{address} {version}"
        return lifecycle.purge(
            viewer=Viewer(olga), address=where, version=version, reason="It holds a key.", confirm=confirm
        )

    return do


def run_purges():
    Job.objects.filter(kind=purging.JOB).update(not_before=None)
    for job in Job.objects.filter(kind=purging.JOB, state="queued").order_by("pk"):
        purge_blob(job_id=job.pk)


@pytest.mark.both
def test_the_rows_go_at_once_and_the_bytes_by_the_worker(published, purge, stored_files):
    release = published(data=DATA)
    row = ModuleVersion.objects.get()
    ModuleCall.objects.create(version=row, name="a", source="./a")
    DownloadCount.objects.create(release=release, day=timezone.now().date(), client="other", count=3)
    purge()

    assert (ModuleVersion.objects.count(), ModuleCall.objects.count()) == (0, 0)
    assert stored_files() == [LEDGER, KEY], "no storage is touched in the request"
    for _ in range(2):  # a worker that comes twice does no harm
        Job.objects.filter(kind=purging.JOB).update(state="queued", finished_at=None)
        run_purges()
        assert stored_files() == [LEDGER]
        assert Blob.objects.count() == 0
        assert Job.objects.get(kind=purging.JOB).state == "succeeded"
    assert DownloadCount.objects.get().count == 3, "what was counted is history"
    kinds = AuditEvent.objects.order_by("pk").values_list("kind", "detail__removed")
    assert list(kinds)[3:5] == [("namespace:release:purged", None), ("namespace:release:bytes-removed", True)]


@for_each_row("data", [DATA, module_zip(comment=b"other bytes")], ids=["same", "other"])
def test_the_number_is_never_used_again(published, purge, tofu, browser_of, alice, data):
    published(data=DATA)
    purge()
    run_purges()
    response = tofu(alice).generic("PUT", PATH, data, content_type="application/zip")

    assert response.status_code == 409
    error = response.json()["error"]
    assert error["message"].startswith("acme/vpc/aws 1.2.0 was removed on 20")
    assert "It holds a key." in error["message"]
    assert "cannot be reused" in error["hint"]
    asked = {"module": "new", "namespace": "acme", "name": "vpc", "system": "aws", "version": "1.2.0"}
    assert "was removed on" in browser_of(alice).post("/publish", asked).text, "before anything is sent"


def test_bytes_that_another_release_has_stay(published, purge, stored_files, client):
    published(data=DATA)
    twin = published("pantry/copy/aws", "3.0.0", data=DATA)
    purge()
    run_purges()

    assert KEY in stored_files()
    assert Blob.objects.get().state == "ready"
    assert client.get(f"/archives/{twin.digest}/copy-aws-3.0.0.zip").getvalue() == DATA
    purge("pantry/copy/aws", "3.0.0")
    run_purges()
    assert KEY not in stored_files()


def on_its_way(user, version):
    """A release of the same bytes just before the step that stores them."""
    address = ModuleAddress("acme", "vpc", "aws")
    publishing.publish(viewer=Viewer(user), address=address, version=version, open_body=lambda: iter([DATA]))
    release = Release.objects.get(version=version)
    Release.objects.filter(pk=release.pk).update(state="checking", digest=DIGEST, size=len(DATA))
    return release


def test_an_upload_of_the_same_bytes_on_its_way_keeps_them_until_it_has_ended(published, purge, alice, stored_files):
    published(data=DATA)
    release = on_its_way(alice, "1.3.0")
    purge()
    run_purges()

    job = Job.objects.get(kind=purging.JOB)
    assert (job.state, job.attempts) == ("queued", 0), "it waits, and that is no attempt"
    assert KEY in stored_files()
    assert Blob.objects.get().state == "ready", "the upload does not wait for the purge, or both would for ever"
    Release.objects.filter(pk=release.pk).update(state="rejected")
    run_purges()
    assert KEY not in stored_files()


@pytest.mark.both
@for_each_row("moment", ["before", "after"])
def test_of_a_purge_and_an_upload_that_meet_neither_loses_its_bytes(published, purge, alice, work, monkeypatch, moment):
    """The upload begins to store at the worst moment: around the worker's look for others."""
    published(data=DATA)
    address = ModuleAddress("acme", "vpc", "aws")
    publishing.publish(viewer=Viewer(alice), address=address, version="1.3.0", open_body=lambda: iter([DATA]))
    purge()
    looks = purging._is_wanted

    def meet(*args):
        found = looks(*args) if moment == "after" else None
        work()
        return looks(*args) if found is None else found

    monkeypatch.setattr(purging, "_is_wanted", meet)
    run_purges()
    monkeypatch.undo()
    Job.objects.filter(kind=publishing.JOB).update(not_before=None)
    work()

    release = Release.objects.get(version="1.3.0")
    assert release.state == "published"
    assert b"".join(store.read(release.digest)) == DATA
    run_purges()
    assert b"".join(store.read(release.digest)) == DATA


def test_a_worker_that_lost_its_lease_deletes_nothing(published, purge, stored_files, monkeypatch):
    published(data=DATA)
    purge()
    remove = store.remove

    def late(digest, **asked):
        Job.objects.filter(kind=purging.JOB).update(fence=9, lease_until=timezone.now() + timedelta(seconds=30))
        return remove(digest, **asked)

    monkeypatch.setattr(store, "remove", late)
    run_purges()

    assert KEY in stored_files()
    assert Job.objects.get(kind=purging.JOB).state == "running", "it is someone else's now"


def test_the_command_purges_on_the_machine_itself(published, capsys, stored_files):
    published(data=DATA)
    asked = ["purge", "acme/vpc/aws", "1.2.0", "--reason", "A key."]
    with pytest.raises(CommandError, match=r"expected 'acme/vpc/aws 1.2.0'"):
        call_command(*asked, "--confirm", "1.2.0")
    with pytest.raises(CommandError, match="has 1 parts"):
        call_command("purge", "vpc", "1.2.0", "--reason", "x", "--confirm", "x")
    call_command(*asked, "--confirm", "acme/vpc/aws 1.2.0")
    run_purges()

    assert "acme/vpc/aws 1.2.0 is removed." in capsys.readouterr().out
    assert stored_files() == [LEDGER]
    event = AuditEvent.objects.get(kind="namespace:release:purged")
    assert (event.actor_id, event.detail["reason"]) == (None, "A key.")
