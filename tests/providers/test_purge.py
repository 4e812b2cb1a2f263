"""Purging a provider's version: every blob that nobody else needs goes, the number stays, and so does a block."""

import hashlib

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.addresses import ProviderAddress
from apps.providers import lifecycle
from apps.providers.models import Package, ProviderVersion
from apps.providers.signatures import resigning
from apps.providers.tasks import resign_provider
from apps.releases.lifecycle import purging
from apps.releases.lifecycle.quarantine import Blocked
from apps.releases.models import Release, ReleaseBlob, SearchDoc
from apps.releases.tasks import purge_blob
from tests.builders.keys import signing_key
from tests.providers.draft_client import URL, DraftClient, dist, hold, register, signed, zips

ADDRESS = ProviderAddress("acme", "dns")
LEDGER = "ledger/provider/acme/dns/1.2.0.json"
CONFIRM = "acme/dns 1.2.0"


@pytest.fixture
def purge(olga):
    def do(address=ADDRESS, version="1.2.0"):
        reason, confirm = "It holds a key.", f"{address} {version}"
        return lifecycle.purge(viewer=Viewer(olga), address=address, version=version, reason=reason, confirm=confirm)

    return do


@pytest.fixture
def out(draft_client, registered) -> Release:
    """acme/dns 1.2.0, signed by its publisher."""
    assert draft_client.publish(signed(dist()))["state"] == "published"
    return Release.objects.get()


def run_purges():
    Job.objects.filter(kind=purging.JOB).update(not_before=None)
    for job in Job.objects.filter(kind=purging.JOB, state="queued").order_by("pk"):
        purge_blob(job_id=job.pk)


def blobs(stored_files):
    return {key.rpartition("/")[2] for key in stored_files() if key.startswith("sha256/")}


@pytest.mark.both
def test_the_rows_and_links_go_at_once_and_every_blob_by_the_worker(out, purge, stored_files, tofu, alice):
    made_of = blobs(stored_files)
    assert len(made_of) == 4, "two packages, sums and signature"
    document = tofu(alice).get("/v1/providers/acme/dns/1.2.0/download/linux/amd64").json()
    links = [document[name] for name in ("download_url", "shasums_url", "shasums_signature_url")]
    assert [Client().head(link).status_code for link in links] == [200, 200, 200]
    purge()

    assert (ProviderVersion.objects.count(), Package.objects.count(), SearchDoc.objects.count()) == (0, 0, 0)
    assert [Client().head(link).status_code for link in links] == [404, 404, 404]
    assert blobs(stored_files) == made_of, "no storage is touched in the request"
    run_purges()
    assert stored_files() == [LEDGER]
    event = AuditEvent.objects.latest("pk")
    assert (event.kind, event.detail["removed"]) == ("namespace:release:bytes-removed", True)
    again = DraftClient(tofu(alice)).open()
    assert again.status_code == 409
    assert "acme/dns 1.2.0 was removed on 20" in again.json()["error"]["message"]


@pytest.mark.both
def test_what_another_version_is_made_of_stays(out, purge, stored_files, tofu, alice, pantry, dora):
    register(pantry, dora)
    twin = DraftClient(tofu(alice), URL.replace("acme", "pantry"))
    assert twin.publish(signed(dist()))["state"] == "published"
    whole = blobs(stored_files)
    purge()
    run_purges()

    kept = {hashlib.sha256(data).hexdigest() for name, data in dist().items() if not name.endswith("_manifest.json")}
    assert kept <= blobs(stored_files) <= whole
    assert AuditEvent.objects.latest("pk").detail["removed"] is False
    link = tofu(alice).get("/v1/providers/pantry/dns/1.2.0/download/linux/amd64").json()["download_url"]
    assert Client().get(link).getvalue() == next(data for name, data in dist().items() if "linux" in name)

    purge(ProviderAddress("pantry", "dns"))
    run_purges()
    assert blobs(stored_files) == set()


@pytest.mark.both
def test_a_purge_waits_for_an_upload_that_may_need_the_same_bytes(out, purge, stored_files):
    coming = Release.objects.get()
    coming.pk, coming.version, coming.sort_key, coming.state = None, "9.0.0", b"9", "checking"
    coming.digest, coming.public_id = "", "00000000-0000-0000-0000-000000000009"
    coming.save(force_insert=True)
    package = Package.objects.get(os="linux")
    ReleaseBlob.objects.create(release=coming, digest=package.digest, name=package.filename)
    purge()
    run_purges()

    assert Job.objects.get(kind=purging.JOB).state == "queued"
    assert blobs(stored_files) == {package.digest}, "the rest is gone"
    Release.objects.filter(pk=coming.pk).update(state="rejected")
    run_purges()
    assert Job.objects.get(kind=purging.JOB).state == "succeeded"
    assert blobs(stored_files) == set()


def test_former_signatures_go_with_it(draft_client, held, acme, dora, purge, stored_files):
    assert draft_client.publish(zips(), protocols=["5.0"])["state"] == "published"
    hold(acme, dora, signing_key("ed25519"))
    resigning.resign(viewer=Viewer(dora), address=ADDRESS, version="1.2.0")
    resign_provider(job_id=Job.objects.get(kind=resigning.JOB).pk)
    assert len(blobs(stored_files)) == 5
    purge()
    run_purges()

    assert stored_files() == [LEDGER]


def test_a_quarantine_outlives_the_purge(out, purge, olga, tofu, alice, pantry, dora):
    package, sums = Package.objects.get(os="linux").digest, out.digest
    register(pantry, dora)
    twin = DraftClient(tofu(alice), URL.replace("acme", "pantry"))
    twin.publish(signed(dist()))
    link = tofu(alice).get("/v1/providers/pantry/dns/1.2.0/download/linux/amd64").json()["download_url"]
    lifecycle.quarantine(viewer=Viewer(olga), address=ADDRESS, version="1.2.0", reason="Malware.")
    assert Client().get(link).status_code == 401
    purge()
    run_purges()

    assert Client().get(link).status_code == 401
    known = Blocked()
    known.renew()
    assert package in known
    assert sums in known


def test_the_command_takes_both_kinds(out, capsys):
    told = {"reason": "It holds a key.", "confirm": CONFIRM}
    with pytest.raises(CommandError, match=r"expected 'acme/dns 1.2.0'"):
        call_command("purge", "acme/dns", "1.2.0", **(told | {"confirm": "acme/dns"}))
    with pytest.raises(CommandError, match=r"There is no version 1.2.0 of acme/dns/aws"):
        call_command("purge", "acme/dns/aws", "1.2.0", **told)
    call_command("purge", "acme/dns", "1.2.0", **told)

    assert "acme/dns 1.2.0 is removed" in capsys.readouterr().out
    assert Release.objects.get().state == "purged"
    event = AuditEvent.objects.get(kind="namespace:release:purged")
    assert (event.actor_id, event.subject) == (None, CONFIRM)
