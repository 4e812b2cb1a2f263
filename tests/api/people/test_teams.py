"""/api/v1/teams: made, described, filled and deleted by script."""

import json

from apps.accounts import namespaces
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Membership, Role, Scope, Team
from apps.accounts.people import teams
from tests.rows import for_each_row

URL = "/api/v1/teams/cooks"


def put(client, url=URL, body=None):
    return client.generic("PUT", url, json.dumps(body or {}), content_type="application/json")


def test_a_team_is_made_described_and_deleted(tofu, charlie):
    client = tofu(charlie)

    made = put(client, body={"description": "They cook"})
    assert made.status_code == 201
    assert made.json() == {
        "name": "cooks",
        "description": "They cook",
        "members": [{"user": "charlie", "manager": True, "active": True}],
        "namespaces": [],
    }
    assert put(client).json()["description"] == "They cook", "what is left out stays"
    assert put(client, body={"description": "Soups"}).json()["description"] == "Soups"
    assert client.delete(URL).status_code == 204
    assert client.get(URL).status_code == 404


def test_people_come_change_and_go(tofu, cooks, dora, bob):
    client = tofu(dora)
    assert put(client, f"{URL}/members/bob").json() == {"user": "bob", "manager": False, "active": True}
    assert put(client, f"{URL}/members/bob", {"manager": True}).json()["manager"] is True
    assert put(client, f"{URL}/members/bob").json()["manager"] is True, "what is left out stays"
    for _ in range(2):
        assert client.delete(f"{URL}/members/bob").status_code == 204
    assert not Membership.objects.filter(user=bob).exists()


@for_each_row(
    ("path", "body", "status", "says"),
    [
        ("", {"colour": "red"}, 422, "colour"),
        ("", {"description": "x" * 201}, 422, "200"),
        ("/members/zoe", {}, 404, "no user zoe"),
        ("/members/dora", {"manager": False}, 409, "at least one manager"),
        ("/members/charlie", {"manager": "perhaps"}, 422, "manager"),
    ],
)
def test_it_says_what_is_wrong(tofu, cooks, dora, path, body, status, says):
    answer = put(tofu(dora), URL + path, body)

    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]


@for_each_row("scope", [Scope.READ, Scope.PUBLISH])
def test_a_manager_changes_nothing_with_a_token_of_another_scope(tofu, cooks, dora, bob, scope):
    client = tofu(dora, scope)
    assert client.get(URL).status_code == 200, "it reads"

    answers = [put(client, f"{URL}{path}") for path in ("", "/members/bob", "/service-accounts/ci")]
    answers.append(client.delete(URL))
    assert [answer.status_code for answer in answers] == [403] * 4
    assert Team.objects.filter(name="cooks").exists()
    assert not Membership.objects.filter(user=bob).exists()


def test_it_names_only_namespaces_that_the_token_sees(tofu, acme, cooks, dora, charlie, olga):
    secret = namespaces.create(name="secret", visibility="private", actor=Viewer(olga))
    for namespace, role in ((acme, Role.READER), (secret, Role.PUBLISHER)):
        namespaces.grant(namespace=namespace, grantee=cooks, role=role, actor=NOBODY)

    both = [{"name": "acme", "role": "reader"}, {"name": "secret", "role": "publisher"}]
    assert tofu(charlie).get(URL).json()["namespaces"] == both
    teams.remove(membership=Membership.objects.get(user=dora), actor=Viewer(olga))
    assert tofu(dora).get(URL).json()["namespaces"] == both[:1], "owner of acme, no member any more"


def test_each_caller_lists_the_teams_that_they_see(tofu, cooks, bearer, client, acme, dora, charlie, bob, olga):
    teams.create(name="bakers", actor=Viewer(olga))

    def listed(asked, query=""):
        return [
            (row["name"], row["people"], row["manager"]) for row in asked.get(f"/api/v1/teams{query}").json()["teams"]
        ]

    assert listed(tofu(dora)) == [("cooks", 2, True)]
    assert listed(tofu(charlie)) == [("cooks", 2, False)]
    assert listed(tofu(bob)) == []
    assert listed(tofu(olga)) == [("bakers", 1, True), ("cooks", 2, False)]
    assert listed(tofu(olga), "?q=ook") == [("cooks", 2, False)]
    limited = client.get("/api/v1/teams", headers=bearer(dora, Scope.MANAGE, namespaces=[acme]))
    assert limited.json() == {"teams": [], "next": None}


def test_the_list_of_teams_has_pages_and_few_queries(tofu, olga, in_pages):
    for number in range(3):
        teams.create(name=f"team{number}", actor=Viewer(olga))
    rows = in_pages(tofu(olga), "/api/v1/teams", queries=2)

    assert [row["name"] for row in rows] == ["team0", "team1", "team2"]
