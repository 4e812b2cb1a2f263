import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Grant, Namespace, Scope
from apps.audit.models import AuditEvent
from tests.rows import for_each_row

URL = "/api/v1/namespaces/acme"


def put(client: Client, url: str = URL, body: object = None):
    data = body if isinstance(body, bytes) else json.dumps(body or {"visibility": "internal"})
    return client.generic("PUT", url, data, content_type="application/json")


def test_a_namespace_is_created_and_belongs_to_its_creator(tofu, charlie):
    response = put(tofu(charlie), "/api/v1/namespaces/fresh", {"visibility": "private", "description": "New."})

    assert response.status_code == 201
    assert json.loads(response.content) == {
        "cooldown_hours": 0,
        "name": "fresh",
        "visibility": "private",
        "description": "New.",
        "breaking_changes": "warn",
        "trusted_publishers_only": False,
        "requires_approval": False,
        "approval_needs_second_factor": False,
        "role": "owner",
        "usage": {"bytes": 0, "versions": 0},
        "quota": {"bytes": None, "versions": None},
    }
    assert Grant.objects.get(namespace__name="fresh").user == charlie


def test_the_same_again_is_200_and_what_is_left_out_stays(tofu, charlie):
    client, url = tofu(charlie), "/api/v1/namespaces/fresh"
    put(client, url, {"visibility": "private", "description": "New.", "breaking_changes": "refuse"})
    again, changed = put(client, url, {"visibility": "private"}), put(client, url, {"visibility": "public"})

    assert (again.status_code, changed.status_code) == (200, 200)
    assert (changed.json()["description"], changed.json()["breaking_changes"]) == ("New.", "refuse")
    assert Namespace.objects.get(name="fresh").visibility == "public"


def test_no_byte_is_read_before_the_rights_are_known(tofu, alice, bob, untouchable):
    for person in (alice, bob):
        assert tofu(person).put(URL, **untouchable).status_code == 403


def test_the_document_says_what_the_token_may(tofu, dora, alice, bob):
    for person, role in ((dora, "owner"), (alice, "publisher"), (bob, "reader")):
        assert tofu(person).get(URL).json()["role"] == role
        assert tofu(person, Scope.READ).get(URL).json()["role"] == "reader"


def patch(client: Client, body: dict[str, object]):
    return client.patch(URL, json.dumps(body), content_type="application/json")


def test_owners_set_the_rule_for_breaking_changes(tofu, acme, dora):
    assert patch(tofu(dora), {"breaking_changes": "ask"}).status_code == 200

    acme.refresh_from_db()
    assert acme.breaking_changes == "ask"
    changed = AuditEvent.objects.get(kind="namespace:namespace:changed")
    assert changed.detail["changes"] == {"breaking_changes": ["warn", "ask"]}


def test_an_owner_cannot_set_the_rule_and_a_quota_at_once(tofu, dora, acme):
    assert patch(tofu(dora), {"breaking_changes": "ask", "quota_versions": 9}).status_code == 403
    assert patch(tofu(dora), {"breaking_changes": "never"}).status_code == 422
    assert patch(tofu(dora), {}).status_code == 422
    acme.refresh_from_db()
    assert acme.breaking_changes == "warn"


@pytest.mark.both
@for_each_row(
    ("body", "status", "word"),
    [
        ({"visibility": "secret"}, 422, "visibility"),
        ({"description": "x"}, 422, "visibility"),
        ({"visibility": "public", "colour": "red"}, 422, "'colour'"),
        ({"visibility": "public", "\ud800": "red"}, 400, "surrogate"),
        ({"visibility": "public", "description": "a\0b"}, 400, "NUL"),
        ({"visibility": "public", "description": "\ud800"}, 400, "surrogate"),
        ({"visibility": "public", "description": "x" * 201}, 422, "description"),
        ({"visibility": ["public"]}, 422, "visibility"),
        ({"visibility": None}, 422, "visibility"),
        (b" ", 400, "JSON"),
        (b"", 422, "Content-Length"),  # neither a length nor chunks
        (b"{", 400, "JSON"),
        (b"[]", 400, "list"),
        (b"\xff", 400, "JSON"),
        (b"[" * 100_000, 400, "deep"),
        (b"1" * 10_000, 400, "JSON"),
        (b" " * 1_100_000, 413, "LARDER_JSON_MAX_BYTES"),
    ],
)
def test_bodies_are_read_strictly_and_the_fault_is_named(tofu, dora, body, status, word):
    response = put(tofu(dora), body=body)

    assert response.status_code == status
    assert word in json.loads(response.content)["error"]["message"]
    assert Namespace.objects.get(name="acme").visibility == "private"


@pytest.mark.both
@for_each_row("name", ["a.b", "a--b", "_ab", "admin", "Admin", "v2", "a%00b", "%ff", "x" * 65])
def test_names_that_no_client_can_carry_are_refused(tofu, charlie, name):
    response = put(tofu(charlie), f"/api/v1/namespaces/{name}")

    assert response.status_code in (404, 422)
    assert not Namespace.objects.exists()


def test_reading_a_namespace_or_a_release_asks_the_gate_once(tofu, bob, acme, published):
    published("acme/vpc/aws", "1.2.0")
    client = tofu(bob)
    for url in (URL, "/api/v1/modules/acme/vpc/aws/1.2.0"):
        with CaptureQueriesContext(connection) as queries:
            assert client.get(url).status_code == 200
        assert len([one for one in queries if "JOIN accounts_namespace AS namespace" in one["sql"]]) == 1, url
