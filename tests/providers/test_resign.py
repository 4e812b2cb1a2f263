"""Signing a published version again: another signature over the same sums; the old one stays valid (D11)."""

import hashlib
import subprocess

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import Conflict
from apps.providers import lifecycle
from apps.providers.models import FormerSignature, ProviderVersion
from apps.providers.signatures import requests, resigning
from apps.providers.tasks import resign_provider
from apps.signing import keys, vault
from apps.signing.models import SigningKey
from tests.builders.keys import gpg, gpg_home, signing_key
from tests.providers.draft_client import SIGNATURE, URL, dist, hold, signed, zips

ADDRESS = ProviderAddress("acme", "dns")
DOWNLOAD = "/v1/providers/acme/dns/1.2.0/download/linux/amd64"


@pytest.fixture
def old(draft_client, held) -> SigningKey:
    """The key that acme/dns 1.2.0 was signed with at first."""
    assert draft_client.publish(zips(), protocols=["5.0"])["state"] == "published"
    return held


@pytest.fixture
def new(old, acme, dora) -> SigningKey:
    """A newer one."""
    return hold(acme, dora, signing_key("ed25519"))


def run() -> Job:
    job = Job.objects.filter(kind=resigning.JOB).latest("pk")
    Job.objects.filter(pk=job.pk).update(not_before=None)
    resign_provider(job_id=job.pk)
    job.refresh_from_db()
    return job


def resign(client: Client):
    return client.generic("POST", f"{URL}/resign")


def verified(document, client: Client, key: SigningKey) -> bool:
    """By gpg, as anybody would: the served signature over the served sums, with that key alone."""
    sums, signature = (client.get(document[f"shasums{end}_url"]).getvalue() for end in ("", "_signature"))
    with gpg_home() as home:
        gpg(home, "--import", data=key.armor.encode())
        (home / "sums.sig").write_bytes(signature)
        command = ["gpg", "--homedir", str(home), "--batch", "--verify", str(home / "sums.sig"), "-"]
        return subprocess.run(command, input=sums, capture_output=True, check=False).returncode == 0


def key_ids(document) -> list[str]:
    return [one["key_id"] for one in document["signing_keys"]["gpg_public_keys"]]


def test_a_new_signature_is_served_and_everything_else_stays(old, new, tofu, dora, bob):
    client = tofu(bob)
    before = client.get(DOWNLOAD).json()
    row = ProviderVersion.objects.get()
    response = resign(tofu(dora))
    assert (response.status_code, response.json()["state"]) == (202, "published")
    assert client.get(DOWNLOAD).json()["shasums_signature_url"].split("/")[-2] == row.signature_digest, "not yet"
    assert run().state == "succeeded"
    after = client.get(DOWNLOAD).json()

    for same in ("download_url", "shasums_url"):
        assert after[same].split("/")[-2:] == before[same].split("/")[-2:]
    assert key_ids(before) == [old.key_id, new.key_id]
    assert key_ids(after) == [new.key_id, old.key_id], "the old one goes on for those who hold its signature"
    assert verified(after, client, new)
    assert not verified(after, client, old)
    assert verified(before, client, old), "links that are out go on, and what they lead to"


def test_the_audit_says_who_asked_and_what_changed_and_done_twice_it_is_done_once(old, new, tofu, dora):
    row = ProviderVersion.objects.get()
    resign(tofu(dora))
    run()
    asked, done = AuditEvent.objects.filter(kind__startswith="namespace:release:resign").order_by("pk")

    assert (asked.actor_id, asked.subject) == (dora.pk, "acme/dns 1.2.0")
    assert done.detail["before"] == {"key": old.fingerprint, "signature": row.signature_digest}
    row.refresh_from_db()
    assert done.detail["after"] == {"key": new.fingerprint, "signature": row.signature_digest}

    Job.objects.filter(kind=resigning.JOB).update(state="queued", finished_at=None)
    run()
    assert ProviderVersion.objects.get().signature_digest == row.signature_digest
    assert FormerSignature.objects.get().key == old


def test_a_retired_key_goes_on_for_old_links_and_a_revoked_one_does_not(old, new, tofu, dora):
    resign(tofu(dora))
    run()
    client = tofu(dora)
    keys.retire(key=old, actor=Viewer(dora), reason="Replaced.")
    assert key_ids(client.get(DOWNLOAD).json()) == [new.key_id, old.key_id]
    keys.revoke(key=old, actor=Viewer(dora), reason="It leaked.")
    assert key_ids(client.get(DOWNLOAD).json()) == [new.key_id]


def test_what_was_signed_by_a_revoked_key_is_trusted_again(old, new, tofu, dora):
    keys.revoke(key=old, actor=Viewer(dora), reason="It leaked.")
    client = tofu(dora)
    assert old.key_id not in key_ids(client.get(DOWNLOAD).json())
    resign(client)
    run()
    document = client.get(DOWNLOAD).json()

    assert key_ids(document) == [new.key_id]
    assert verified(document, client, new)


def test_with_the_newest_key_or_none_there_is_nothing_to_sign_again(old, tofu, dora):
    response = resign(tofu(dora))
    assert response.status_code == 409
    assert "the newest active key of acme" in response.json()["error"]["message"]

    keys.retire(key=old, actor=Viewer(dora), reason="Replaced.")
    response = resign(tofu(dora))
    assert response.status_code == 409
    assert "acme has no active key in this registry" in response.json()["error"]["message"]


def test_a_publishers_signature_is_the_publishers(draft_client, registered, acme, dora, tofu, worker_host):
    assert draft_client.publish(signed(dist()))["state"] == "published"
    hold(acme, dora)
    response = resign(tofu(dora))

    assert response.status_code == 409
    assert "is signed by its publisher" in response.json()["error"]["message"]
    assert "a signature by another of the publisher's keys" in response.json()["error"]["hint"]


def test_two_who_ask_at_once_are_told(old, new, tofu, dora):
    assert resign(tofu(dora)).status_code == 202
    again = resign(tofu(dora))
    assert (again.status_code, Job.objects.filter(kind=resigning.JOB).count()) == (409, 1)


def test_a_worker_that_cannot_sign_waits_and_of_damaged_sums_nothing_is_signed(old, new, tofu, dora, damage):
    row = ProviderVersion.objects.get()
    resign(tofu(dora))
    vault.lock()
    job = run()
    assert (job.state, job.attempts) == ("queued", 0)

    vault.unlock()
    damage(row.sums_digest)
    assert run().state == "queued"
    assert ProviderVersion.objects.get().key == old


@pytest.mark.both
def test_a_signature_that_an_earlier_attempt_never_stored_is_forgotten(old, new, tofu, dora):
    row = ProviderVersion.objects.get()
    row.release.blobs.create(digest="ab" * 32, name=SIGNATURE)
    resign(tofu(dora))
    run()

    named = set(row.release.blobs.filter(name=SIGNATURE).values_list("digest", flat=True))
    assert named == {row.signature_digest, ProviderVersion.objects.get().signature_digest}


@pytest.mark.both
def test_a_purge_while_it_is_signed_leaves_no_signature_behind(old, new, olga, dora, tofu, stored_files, monkeypatch):
    resign(tofu(dora))
    made: list[bytes] = []

    def purge_meanwhile(*given, **more):
        signed = true_signed(*given, **more)
        assert signed.signature is not None
        made.append(signed.signature)
        purge(olga)
        return signed

    true_signed = requests.signed
    monkeypatch.setattr(requests, "signed", purge_meanwhile)
    assert run().state == "succeeded"

    digests = {hashlib.sha256(one).hexdigest() for one in made}
    assert not digests & {key.rpartition("/")[2] for key in stored_files()}


def purge(olga) -> None:
    lifecycle.purge(viewer=Viewer(olga), address=ADDRESS, version="1.2.0", reason="A key.", confirm="acme/dns 1.2.0")


def test_a_purge_before_it_is_signed_ends_the_request_and_a_tombstone_is_signed_no_more(
    old, new, olga, dora, tofu, monkeypatch
):
    def purge_first(*given, **more):
        purge(olga)
        return true_signed(*given, **more)

    resign(tofu(dora))
    true_signed = requests.signed
    monkeypatch.setattr(requests, "signed", purge_first)
    assert run().state == "succeeded"

    assert AuditEvent.objects.get(kind="namespace:release:signing-refused").detail["reason"] == "state"
    with pytest.raises(Conflict, match="was removed on"):
        resigning.resign(viewer=Viewer(olga), address=ADDRESS, version="1.2.0")
