"""Versions outlive their publisher's key: an owner sends another signature over the same sums, or lets the registry
sign them (D11).
"""

import pytest
from django.conf import settings

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.jobs.models import Job
from apps.lib.addresses import ProviderAddress
from apps.providers import lifecycle
from apps.providers.drafting import assembling
from apps.providers.models import FormerSignature, ProviderVersion, Signing
from apps.releases.lifecycle import purging
from apps.releases.models import ReleaseBlob
from apps.releases.tasks import purge_blob
from apps.signing import keys
from apps.signing.models import SigningKey
from tests.builders.keys import signing_key
from tests.providers.draft_client import SIGNATURE, SUMS, URL, dist, hold, register, signed
from tests.providers.test_resign import DOWNLOAD, key_ids, resign, run, verified
from tests.rows import for_each_row

FILES = dist()
PLACE = f"{URL}/SHA256SUMS.sig"
PAGE = "/providers/acme/dns/1.2.0/lifecycle"


@pytest.fixture
def old(draft_client, registered, dora) -> SigningKey:
    """The publisher's key that acme/dns 1.2.0 was signed with, revoked since."""
    assert draft_client.publish(signed(FILES))["state"] == "published"
    keys.revoke(key=registered, actor=Viewer(dora), reason="It leaked.")
    return registered


@pytest.fixture
def new(old, acme, dora) -> SigningKey:
    return register(acme, dora, signing_key("foreign"))


@pytest.fixture
def signature() -> bytes:
    return signing_key("foreign").sign(FILES[SUMS])


def remove_bytes() -> None:
    job = Job.objects.filter(kind=purging.JOB).latest("pk")
    Job.objects.filter(pk=job.pk).update(not_before=None)
    purge_blob(job_id=job.pk)


def send(client, data, **more):
    return client.generic("PUT", PLACE, data, **more)


def error_of(response):
    return response.json()["error"]


def test_a_signature_by_another_registered_key_is_served_and_everything_else_stays(new, tofu, dora, bob, signature):
    client = tofu(bob)
    before = client.get(DOWNLOAD).json()
    row = ProviderVersion.objects.get()
    assert key_ids(before) == [new.key_id], "the key that signed it was revoked: clients refuse it"
    answer = send(tofu(dora), signature)
    after = client.get(DOWNLOAD).json()

    assert (answer.status_code, answer.json()["key"], answer.json()["signing"]) == (200, new.fingerprint, "publisher")
    for same in ("download_url", "shasums_url"):
        assert after[same].split("/")[-2:] == before[same].split("/")[-2:]
    assert verified(after, client, new)
    assert not verified(before, client, new)
    [done] = AuditEvent.objects.filter(kind="namespace:release:resigned")
    assert (done.actor_id, done.detail["before"]["signature"]) == (dora.pk, row.signature_digest)
    assert done.detail["after"]["key"] == new.fingerprint


def test_the_same_signature_again_changes_nothing(new, tofu, dora, signature):
    client = tofu(dora)
    assert [send(client, signature).json()["changed"] for _ in range(2)] == [True, False]
    assert FormerSignature.objects.count() == 1


@for_each_row(
    ("make", "said"),
    [
        (lambda: signing_key("foreign").sign(b"other sums"), "over other bytes"),
        (lambda: signing_key().sign(FILES[SUMS]), "which was revoked"),
        (lambda: signing_key("nistp256").sign(FILES[SUMS]), "one by a key of the namespace"),
        (lambda: b"\n", "an empty file"),
        (lambda: b"garbage", "one binary detached signature"),
    ],
    ids=["other bytes", "the revoked key", "a stranger's", "nothing", "garbage"],
)
def test_a_signature_that_vouches_for_nothing_is_refused(new, tofu, dora, make, said, stored_files):
    before, files = ProviderVersion.objects.values().get(), stored_files()
    answer = send(tofu(dora), make())

    assert answer.status_code == 422
    assert said in error_of(answer)["message"]
    assert (ProviderVersion.objects.values().get(), stored_files()) == (before, files)


def test_what_is_too_large_or_a_form_or_over_damaged_sums_is_refused(new, tofu, dora, damage, signature):
    assert send(tofu(dora), b"x" * 70_000).status_code == 413
    assert send(tofu(dora), b"x", content_type="multipart/form-data; boundary=x").status_code == 400
    damage(ProviderVersion.objects.get().sums_digest)
    assert send(tofu(dora), signature).status_code == 503


@pytest.mark.both
def test_a_key_that_ends_in_the_same_moment_is_not_served(new, tofu, dora, signature, monkeypatch):
    def store_and_retire(*arguments):
        true_store(*arguments)
        keys.retire(key=new, actor=Viewer(dora), reason="Replaced.")

    true_store = assembling.store_small
    monkeypatch.setattr(assembling, "store_small", store_and_retire)
    answer = send(tofu(dora), signature)

    assert answer.status_code == 409
    assert "retired or was revoked" in error_of(answer)["message"]
    assert ProviderVersion.objects.get().key != new


@pytest.mark.both
def test_a_purge_in_the_same_moment_leaves_no_signature_behind(new, tofu, dora, olga, signature, monkeypatch):
    def purge_and_store(*arguments):
        reason, confirm = "A key.", "acme/dns 1.2.0"
        lifecycle.purge(
            viewer=Viewer(olga), address=ProviderAddress("acme", "dns"), version="1.2.0", reason=reason, confirm=confirm
        )
        remove_bytes()  # a worker is as fast as can be
        true_store(*arguments)

    true_store = assembling.store_small
    monkeypatch.setattr(assembling, "store_small", purge_and_store)
    assert send(tofu(dora), signature).status_code == 409

    remove_bytes()
    [digest] = ReleaseBlob.objects.filter(name=SIGNATURE).order_by("-pk").values_list("digest", flat=True)[:1]
    assert store.size_of(digest) is None


def test_the_registry_signs_in_the_place_of_a_key_that_ended_until_the_publisher_does(
    old, tofu, acme, dora, worker_host, signature
):
    held = hold(acme, dora)
    client = tofu(dora)
    assert resign(client).status_code == 202
    assert run().state == "succeeded"
    document = client.get(DOWNLOAD).json()

    assert ProviderVersion.objects.get().signing == Signing.REGISTRY
    assert key_ids(document) == [held.key_id]
    assert verified(document, client, held)
    assert client.get(document["shasums_url"]).getvalue() == FILES[SUMS], "the publisher's, byte for byte"
    new = register(acme, dora, signing_key("foreign"))
    answer = send(client, signature)
    assert (answer.status_code, answer.json()["signing"]) == (200, "publisher")
    assert ProviderVersion.objects.get().key == new


def test_the_page_of_the_key_leads_its_owners_there(old, browser_of, dora, bob):
    page = f"/namespaces/acme/keys/{old.fingerprint}"
    assert f'href="{PAGE}#resign"' in browser_of(dora).get(page).text
    assert "#resign" not in browser_of(bob).get(page).text


def test_an_owner_sends_it_on_the_page_and_reads_what_is_wrong_with_it(new, browser_of, dora, signature):
    browser = browser_of(dora)
    assert f'action="{PAGE}/signature"' in browser.get(PAGE).text
    wrong = _post(browser, b"garbage")
    assert wrong.status_code == 422
    assert 'role="alert"' in wrong.text
    right = _post(browser, signature)

    assert (right.status_code, right.url) == (303, PAGE)
    assert f"is now served with your signature by the key {new.key_id}" in browser.get(PAGE).text
    assert _post(browser, signature, origin="https://evil.example").status_code == 403


def _post(browser, data, *, origin=settings.PUBLIC_URL):
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="SHA256SUMS.sig"\r\n\r\n'
    body = part + data + b"\r\n--x--\r\n"
    kind = "multipart/form-data; boundary=x"
    return browser.generic("POST", f"{PAGE}/signature", body, content_type=kind, headers={"Origin": origin})
