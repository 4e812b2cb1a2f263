"""POST …/deprecate, yank, quarantine, restore, purge, verify of a provider's version; PATCH of what is said of it."""

import json

import pytest

from apps.accounts.models import Scope
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.providers.models import Provider
from apps.releases.models import SearchDoc
from tests.portal.providers.rows import provider_version, row_of_key
from tests.rows import for_each_row

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


def test_verifying_is_audited_of_providers_and_of_modules(out, post, published, tofu, olga):
    response = post(olga, "verify")
    assert (response.status_code, response.json()["version"]) == (202, "1.2.0")
    assert Job.objects.get(kind="verify-provider").target == out[1].release_id
    event = AuditEvent.objects.get(kind="namespace:release:verify-requested")
    assert (event.actor_id, event.subject) == (olga.pk, "acme/dns 1.2.0")

    release = published()
    assert tofu(olga).generic("POST", "/api/v1/modules/acme/vpc/aws/1.2.0/verify").status_code == 202
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
    change(tofu(alice), description="Records in our own zones")
    assert SearchDoc.objects.get().description == "Records in our own zones", "lists follow"


@for_each_row(
    ("body", "found"),
    [
        ({"notice": "x" * 501}, "The notice has 501 characters, expected at most 500."),
        ({"notice": "a\u001bb"}, "The notice contains a control character."),
        ({"description": "x" * 301}, "The description has 301 characters"),
        ({"source": "ftp://example.com"}, "expected one that begins with https:// or http://"),
        ({"warning": "typo"}, "There is no field 'warning'."),
        ({}, "The request changes nothing."),
    ],
    ids=["long", "control", "description", "source", "unknown", "nothing"],
)
def test_what_it_cannot_take_is_refused_with_words(out, tofu, alice, body, found):
    response = change(tofu(alice), **body)

    assert response.status_code == 422
    assert found in response.json()["error"]["message"]
    assert Provider.objects.get().notice == ""
