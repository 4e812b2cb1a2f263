"""/api/v1/namespaces/<ns>/keys: registered and requested by owners, listed for readers, ended with a reason."""

import json

import pytest

from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.signing.models import PrivateKey, SigningKey
from tests import pages
from tests.builders.held import held_key
from tests.builders.keys import extended, signing_key
from tests.portal.providers.rows import row_of_key
from tests.rows import for_each_row

URL = "/api/v1/namespaces/acme/keys"


def post(client, path="", **body):
    return client.post(URL + path, json.dumps(body), content_type="application/json")


def kinds():
    rows = AuditEvent.objects.filter(kind__startswith="namespace:key:").order_by("pk")
    return [(row.kind.rpartition(":")[2], row.actor_id) for row in rows]


@pytest.fixture
def registered(tofu, dora):
    key = signing_key("ed25519")
    answer = post(tofu(dora), armor=key.armor, source="Cooks", source_url="https://cooks.example/keys")
    assert answer.status_code == 201, answer.json()
    return key


def test_an_owner_registers_a_key_and_readers_see_it(tofu, bob, dora, registered):
    (listed,) = tofu(bob).get(URL).json()["keys"]

    assert listed["fingerprint"] == registered.fingerprint
    assert listed["key_id"] == registered.fingerprint[-16:]
    assert (listed["state"], listed["custody"], listed["algorithm"]) == ("active", "publisher", "ed25519")
    assert listed["uid"] == "Ed25519 Tester <ed25519@example.com>"
    assert (listed["source"], listed["source_url"]) == ("Cooks", "https://cooks.example/keys")
    assert (listed["expires_at"], listed["releases"]) == (None, 0)
    assert kinds() == [("registered", dora.pk)]
    assert tofu(bob).get(f"{URL}/{registered.fingerprint.lower()}").json() == listed


def test_a_key_of_larder_is_answered_without_its_private_half(tofu, bob, acme, worker_host):
    key = held_key(acme)
    (listed,) = tofu(bob).get(URL).json()["keys"]

    assert (listed["fingerprint"], listed["state"], listed["custody"]) == (key.fingerprint, "active", "registry")
    assert listed["ascii_armor"].startswith("-----BEGIN PGP PUBLIC KEY BLOCK-----")
    assert "PRIVATE" not in str(listed)
    assert (listed["expires_at"], listed["added_at"][-1]) == (None, "Z")


def test_a_worker_is_asked_for_a_key(tofu, dora):
    answer = post(tofu(dora), generate="rsa4096")

    assert answer.status_code == 202
    assert (answer.json()["state"], answer.json()["custody"]) == ("pending", "registry")
    assert answer.json()["fingerprint"] == ""
    job = Job.objects.get(kind="make-signing-key")
    assert job.target == SigningKey.objects.get().pk
    assert kinds() == [("requested", dora.pk)]
    again = post(tofu(dora), generate="ed25519")
    assert again.status_code == 409
    assert "being generated" in again.json()["error"]["message"]
    PrivateKey.objects.create(key_id=job.target, nonce=b"n" * 12, ciphertext=b"sealed-bytes", kek_id="k")
    assert "sealed" not in tofu(dora).get(URL).text, "the private half is in no answer"


def test_a_private_key_is_refused_with_what_to_do_now_and_a_key_that_is_there_too(tofu, dora, registered):
    answer = post(tofu(dora), armor=registered.secret_armor)
    assert answer.status_code == 422
    assert "revoked now" in answer.json()["error"]["hint"]
    assert registered.secret_armor[80:120] not in answer.text

    answer = post(tofu(dora), armor=registered.armor)
    assert answer.status_code == 409
    assert registered.fingerprint in answer.json()["error"]["message"]
    assert SigningKey.objects.count() == 1


@pytest.mark.slow
def test_a_key_that_its_owner_has_extended_is_renewed(tofu, dora):
    key = signing_key("expiring")
    before = post(tofu(dora), armor=key.armor, source="Cooks").json()
    assert [before] == tofu(dora).get(URL).json()["keys"], "what is answered is the key as the list has it"
    answer = post(tofu(dora), armor=extended(key).armor)

    assert answer.status_code == 200
    assert answer.json()["expires_at"] > before["expires_at"]
    assert (answer.json()["id"], answer.json()["source"]) == (before["id"], "Cooks")
    assert kinds() == [("registered", dora.pk), ("renewed", dora.pk)]


@for_each_row(
    ("body", "says"),
    [
        ({}, "registered or generated"),
        ({"armor": "x", "generate": "ed25519"}, "registered or generated"),
        ({"generate": "dsa"}, "generate"),
        ({"generate": "ed25519", "source": "Cooks"}, "no source"),
        ({"armor": "nothing of the kind"}, "armour block"),
        ({"armor": "x", "state": "active"}, "no field 'state'"),
        ({"armor": 5, "source_url": []}, "source_url"),
    ],
    ids=["nothing", "both", "unknown-algorithm", "source-of-a-made-one", "no-armor", "unknown-field", "wrong-type"],
)
def test_what_makes_no_sense_is_refused_with_words(tofu, dora, body, says):
    answer = post(tofu(dora), **body)

    assert answer.status_code == 422
    assert says in answer.json()["error"]["message"]
    assert not SigningKey.objects.exists()


@for_each_row("act", ["retire", "revoke"])
def test_a_key_is_ended_with_a_reason_and_stays(tofu, dora, registered, act):
    url = f"/{registered.fingerprint}/{act}"
    assert post(tofu(dora), url, reason=" ").status_code == 422
    answer = post(tofu(dora), url, reason="Its laptop was stolen.")

    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["reason"]) == (f"{act}d", "Its laptop was stolen.")
    assert answer.json()["ended_at"]
    assert post(tofu(dora), url, reason="Again.").status_code == 409
    assert kinds()[1:] == [(answer.json()["state"], dora.pk)]


def test_a_key_that_is_not_there_is_not_found(tofu, bob, dora, hall, registered):
    for name in ("x", "0" * 40, registered.fingerprint[:-1], "%00"):
        assert tofu(bob).get(f"{URL}/{name}").status_code == 404
        assert post(tofu(dora), f"/{name}/revoke", reason="No.").status_code == 404
    assert tofu(bob).get(f"/api/v1/namespaces/hall/keys/{registered.fingerprint}").status_code == 404


def test_the_list_takes_as_many_queries_for_many_keys(tofu, bob, acme, registered):
    client, counts = tofu(bob), []
    client.get(URL)
    for start, stop in ((1, 11), (11, 110)):
        for number in range(start, stop):
            row_of_key(acme, number)
        counts.append(pages.queries_of(client, URL))

    assert counts[0] == counts[1] <= 5
