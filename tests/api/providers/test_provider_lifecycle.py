"""POST …/deprecate, yank, quarantine, restore, purge, verify of a provider's version; PATCH of what is said of it."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.providers.models import Provider, ProviderVersion
from apps.releases.models import Release, SearchDoc
from tests.portal.providers.rows import provider_version, row_of_key

PROVIDER = "/api/v1/providers/acme/dns"
URL = f"{PROVIDER}/1.2.0"
VERSIONS = "/v1/providers/acme/dns/versions"


@pytest.fixture
def out(acme, alice):
    key = row_of_key(acme, 1)
    return [provider_version(acme, "dns", number, key=key, user=alice) for number in ("1.1.0", "1.2.0")]


@pytest.fixture
def post(tofu):
    def send(user, act, scope=Scope.MANAGE, **body):
        data = json.dumps({"reason": "It loses records.", **body})
        return tofu(user, scope).generic("POST", f"{URL}/{act}", data, content_type="application/json")

    return send


def listed(tofu, bob):
    document = tofu(bob).get(VERSIONS).json()
    return [one["version"] for one in document["versions"]], document["warnings"]


def test_a_deprecation_is_a_warning_at_every_init(out, post, tofu, alice, bob):
    response = post(alice, "deprecate", replacement="1.1.0")
    assert response.status_code == 200
    assert response.json()["lifecycle"]["replacement"] == "1.1.0"
    versions, warnings = listed(tofu, bob)

    assert versions == ["1.2.0", "1.1.0"]
    assert warnings == ["version 1.2.0 is deprecated: It loses records. Use 1.1.0 instead."]


def test_a_yank_takes_it_out_of_the_list_and_can_be_taken_back(out, post, tofu, alice, dora, bob):
    assert post(alice, "yank").status_code == 200, "it is her own, and new"
    assert post(alice, "restore").status_code == 200
    Release.objects.update(published_at=timezone.now() - timedelta(hours=72))
    assert post(alice, "yank").status_code == 403
    assert post(dora, "yank").status_code == 200
    assert listed(tofu, bob)[0] == ["1.1.0"]
    assert SearchDoc.objects.get().version == "1.1.0"
    assert tofu(bob).get("/v1/providers/acme/dns/1.2.0/download/linux/amd64").status_code == 200
    assert post(dora, "yank").status_code == 409
    assert post(dora, "restore").status_code == 200
    assert listed(tofu, bob)[0] == ["1.2.0", "1.1.0"]


def test_a_quarantine_stops_everything_until_it_is_lifted(out, post, tofu, olga, dora, bob):
    where = "/v1/providers/acme/dns/1.2.0/download/linux/amd64"
    assert post(dora, "quarantine").status_code == 403
    assert post(olga, "quarantine").json()["quarantined"] is True
    assert listed(tofu, bob)[0] == ["1.1.0"]
    assert tofu(bob).get(where).status_code == 404
    assert post(olga, "restore").json()["quarantined"] is False
    assert tofu(bob).get(where).status_code == 200


def test_a_purge_is_for_staff_and_needs_the_typed_name(out, post, dora, olga):
    assert post(dora, "purge", confirm="acme/dns 1.2.0").status_code == 403
    wrong = post(olga, "purge", confirm="acme/dns")
    assert wrong.status_code == 422
    assert "expected 'acme/dns 1.2.0'" in wrong.json()["error"]["message"]
    assert post(olga, "purge", confirm="acme/dns 1.2.0").json()["state"] == "purged"
    assert [row.release.version for row in ProviderVersion.objects.all()] == ["1.1.0"]
    assert Job.objects.get(kind="purge-blob").target == out[1].release_id


def test_verifying_is_for_staff_and_audited(out, post, dora, olga):
    assert post(dora, "verify").status_code == 403
    response = post(olga, "verify")
    assert (response.status_code, response.json()["version"]) == (202, "1.2.0")
    assert Job.objects.get(kind="verify-provider").target == out[1].release_id
    event = AuditEvent.objects.get(kind="namespace:release:verify-requested")
    assert (event.actor_id, event.subject) == (olga.pk, "acme/dns 1.2.0")


def test_modules_are_verified_as_well(published, tofu, olga):
    release = published()
    response = tofu(olga).generic("POST", "/api/v1/modules/acme/vpc/aws/1.2.0/verify")

    assert response.status_code == 202
    assert Job.objects.get(kind="verify-release").target == release.pk


def change(client, **body):
    return client.generic("PATCH", PROVIDER, json.dumps(body), content_type="application/json")


def test_the_notice_reaches_every_init(out, tofu, alice, bob):
    response = change(tofu(alice), notice="  Move to acme/names\n before May. ", source="https://git.example.com/dns")
    assert response.status_code == 200
    assert response.json() == {
        "namespace": "acme",
        "type": "dns",
        "description": "",
        "source": "https://git.example.com/dns",
        "notice": "Move to acme/names before May.",
    }
    assert tofu(bob).get(PROVIDER).json() == response.json()
    assert listed(tofu, bob)[1] == ["Move to acme/names before May."]
    event = AuditEvent.objects.get(kind="namespace:provider:described")
    assert event.detail["changes"]["notice"] == ["", "Move to acme/names before May."]
    assert change(tofu(alice), notice="").json()["notice"] == ""
    assert listed(tofu, bob)[1] == []


def test_lists_follow_the_description(out, tofu, alice):
    change(tofu(alice), description="Records in our own zones")
    assert SearchDoc.objects.get().description == "Records in our own zones"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"notice": "x" * 501}, "The notice has 501 characters, expected at most 500."),
        ({"notice": "a\u001bb"}, "The notice contains a control character."),
        ({"description": "x" * 301}, "The description has 301 characters"),
        ({"source": "ftp://example.com"}, "expected one that begins with https:// or http://"),
        ({"warning": "typo"}, "There is no field 'warning'."),
        ({}, "There is nothing to change."),
    ],
    ids=["long", "control", "description", "source", "unknown", "nothing"],
)
def test_what_it_cannot_take_is_refused_with_words(out, tofu, alice, body, found):
    response = change(tofu(alice), **body)

    assert response.status_code == 422
    assert found in response.json()["error"]["message"]
    assert Provider.objects.get().notice == ""
