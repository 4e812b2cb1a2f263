"""/api/v1/namespaces/<ns>/grants and /transfer."""

import json

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role, Team
from apps.accounts.people import teams
from tests.rows import for_each_row

URL = "/api/v1/namespaces/acme"


@pytest.fixture
def cooks(charlie) -> Team:
    return teams.create(name="cooks", actor=Viewer(charlie))


def send(client, method, path, body=None):
    return client.generic(method, URL + path, json.dumps(body or {}), content_type="application/json")


def roles():
    return {str(grant.grantee): grant.role for grant in namespaces.grants_in(Namespace.objects.get(name="acme"))}


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


@pytest.mark.both
@for_each_row("body", [{}, {"quota_bytes": -1}, {"quota_versions": "many"}, {"quota_versions": 2**40}])
def test_bad_quotas_are_refused(tofu, olga, acme, body):
    assert send(tofu(olga), "PATCH", "", body).status_code == 422
