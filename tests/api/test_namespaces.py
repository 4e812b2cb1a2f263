"""/api/v1/namespaces/<ns>, its grants, /transfer and quotas."""

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role, Scope, Team
from apps.accounts.people import teams
from apps.audit.models import AuditEvent
from tests.rows import for_each_row

URL = "/api/v1/namespaces/acme"


@pytest.fixture
def cooks(charlie) -> Team:
    return teams.create(name="cooks", actor=Viewer(charlie))


def put(client: Client, url: str = URL, body: object = None):
    data = body if isinstance(body, bytes) else json.dumps(body or {"visibility": "internal"})
    return client.generic("PUT", url, data, content_type="application/json")


def send(client, method, path, body=None):
    return client.generic(method, URL + path, json.dumps(body or {}), content_type="application/json")


def roles():
    return {str(grant.grantee): grant.role for grant in namespaces.grants_in(Namespace.objects.get(name="acme"))}


def test_an_introduction_is_set_kept_and_limited(tofu, charlie):
    client, url = tofu(charlie), "/api/v1/namespaces/fresh"
    words = "Take **vpc** first."

    assert put(client, url, {"visibility": "private", "introduction": words}).json()["introduction"] == words
    assert put(client, url, {"visibility": "public"}).json()["introduction"] == words
    assert put(client, url, {"visibility": "public", "introduction": "x" * 1001}).status_code == 422
    assert put(client, url, {"visibility": "public", "introduction": ""}).json()["introduction"] == ""


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


def test_owners_set_the_rule_for_breaking_changes_but_no_quota_with_it(tofu, acme, dora):
    assert send(tofu(dora), "PATCH", "", {"breaking_changes": "ask"}).status_code == 200

    acme.refresh_from_db()
    assert acme.breaking_changes == "ask"
    changed = AuditEvent.objects.get(kind="namespace:namespace:changed")
    assert changed.detail["changes"] == {"breaking_changes": ["warn", "ask"]}
    assert send(tofu(dora), "PATCH", "", {"breaking_changes": "refuse", "quota_versions": 9}).status_code == 403
    assert send(tofu(dora), "PATCH", "", {"breaking_changes": "never"}).status_code == 422
    assert send(tofu(dora), "PATCH", "", {}).status_code == 422
    acme.refresh_from_db()
    assert acme.breaking_changes == "ask"


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
        (b" " * 1_100_000, 413, "json_max_bytes of LARDER_LIMITS"),
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


# --- Roles, /transfer and quotas -------------------------------------------------------------------------------------


@pytest.mark.both
def test_people_and_teams_are_given_roles_and_lose_them(tofu, dora, bob, cooks):
    client = tofu(dora)
    assert send(client, "PUT", "/grants/users/charlie", {"role": "reader"}).json()["role"] == "reader"
    assert send(client, "PUT", "/grants/users/charlie", {"role": "publisher"}).json()["role"] == "publisher"
    given = send(client, "PUT", "/grants/teams/cooks", {"role": "owner"}).json()
    assert (given["team"], given["role"]) == ("cooks", "owner")

    listed = client.get(f"{URL}/grants").json()["grants"]
    assert [(grant.get("team") or grant["user"], grant["role"]) for grant in listed] == [
        ("cooks", "owner"),
        ("dora", "owner"),
        ("charlie", "publisher"),
        ("bob", "reader"),
    ]
    for path in ("/grants/users/charlie", "/grants/teams/cooks", "/grants/teams/cooks", "/grants/users/zoe"):
        assert client.delete(URL + path).status_code == 204
    assert roles() == {"dora": Role.OWNER, "bob": Role.READER}


def test_the_roles_are_listed_in_pages(tofu, dora, bob, in_pages):
    rows = in_pages(tofu(dora), f"{URL}/grants", queries=3, size=1)

    assert [grant["user"] for grant in rows] == ["dora", "bob"]


@for_each_row(
    ("path", "body", "status", "says"),
    [
        ("/grants/users/zoe", {"role": "reader"}, 404, "no user zoe"),
        ("/grants/teams/zoe", {"role": "reader"}, 404, "no team zoe"),
        ("/grants/users/dora", {"role": "reader"}, 409, "at least one owner"),
        ("/grants/users/charlie", {"role": "king"}, 422, "role"),
        ("/grants/users/charlie", {}, 422, "role"),
    ],
)
def test_it_says_what_is_wrong(tofu, dora, charlie, path, body, status, says):
    answer = send(tofu(dora), "PUT", path, body)

    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]
    assert roles() == {"dora": Role.OWNER}


# --- Transfer ------------------------------------------------------------------------------------------------------


def test_it_goes_to_a_person_or_team_in_place_of_the_caller_who_may_stay_as_publisher(tofu, dora, charlie, cooks):
    answer = send(tofu(dora), "POST", "/transfer", {"to_user": "charlie"})
    assert [grant["user"] for grant in answer.json()["grants"]] == ["charlie"]
    assert roles() == {"charlie": Role.OWNER}

    assert send(tofu(charlie), "POST", "/transfer", {"to_team": "cooks", "keep_publisher": True}).status_code == 200
    assert roles() == {"cooks": Role.OWNER, "charlie": Role.PUBLISHER}


def test_staff_name_whom_they_replace(tofu, dora, olga, cooks):
    assert send(tofu(olga), "POST", "/transfer", {"to_user": "olga"}).status_code == 200
    assert roles() == {"dora": Role.OWNER, "olga": Role.OWNER}, "nobody was named"
    send(tofu(olga), "POST", "/transfer", {"to_team": "cooks", "from_user": "dora"})
    assert roles() == {"cooks": Role.OWNER, "olga": Role.OWNER}
    send(tofu(olga), "POST", "/transfer", {"to_user": "dora", "from_team": "cooks"})
    assert roles() == {"dora": Role.OWNER, "olga": Role.OWNER}


@for_each_row(
    ("body", "status", "says"),
    [
        ({}, 422, "one new owner"),
        ({"to_user": "charlie", "to_team": "cooks"}, 422, "one new owner"),
        ({"to_user": "zoe"}, 404, "no user zoe"),
        ({"to_user": "dora"}, 409, "owns acme already"),
        ({"to_user": "charlie", "from_user": "bob"}, 404, "bob does not own it"),
        ({"to_user": "charlie", "from_user": "dora", "from_team": "cooks"}, 422, "One owner"),
    ],
)
def test_a_transfer_says_what_is_wrong(tofu, dora, bob, charlie, body, status, says):
    answer = send(tofu(dora), "POST", "/transfer", body)

    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]
    assert roles() == {"dora": Role.OWNER, "bob": Role.READER}


# --- Quotas --------------------------------------------------------------------------------------------------------


def test_staff_set_quotas_and_readers_see_them(tofu, acme, bob, olga):
    answer = send(tofu(olga), "PATCH", "", {"quota_bytes": 5_000_000, "quota_versions": 3})

    assert answer.json()["quota"] == {"bytes": 5_000_000, "versions": 3}
    assert send(tofu(olga), "PATCH", "", {"quota_bytes": None}).json()["quota"] == {"bytes": None, "versions": 3}
    shown = tofu(bob).get(URL).json()
    assert (shown["quota"]["versions"], shown["usage"]) == (3, {"bytes": 0, "versions": 0})
