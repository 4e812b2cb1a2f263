"""GET /api/v1/me, and lists of namespaces, modules, providers and versions that the caller may see."""

import pytest

from apps.accounts.models import Namespace, Visibility
from tests.portal.rows import add_module
from tests.rows import for_each_row


@pytest.fixture
def shelf(acme, pantry, hall):
    """acme is private, pantry public, hall internal."""
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0")
    add_module(pantry, "bucket/aws", "1.0.0", "1.1.0", "2.0.0")
    add_module(pantry, "vpc/google", "0.1.0")


def names(client, url, what):
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return [
        "/".join(filter(None, [row["namespace"], row.get("name"), row.get("system"), row.get("type")]))
        for row in answer.json()[what]
    ]


def test_a_token_says_whose_it_is_and_what_it_may(client, alice, acme, bearer):
    alice.first_name = "Alice"
    alice.save()
    said = client.get(
        "/api/v1/me", headers=bearer(alice, scope="publish", namespaces=[acme], only_name="vpc/aws")
    ).json()

    assert {key: said[key] for key in ("user", "name", "staff")} == {"user": "alice", "name": "Alice", "staff": False}
    token = said["token"]
    assert (token["scope"], token["namespaces"], token["only_name"]) == ("publish", ["acme"], "vpc/aws")
    assert client.get("/api/v1/me", headers=bearer(alice)).json()["token"]["namespaces"] is None
    assert client.get("/api/v1/me").status_code == 401


def test_each_caller_sees_the_namespaces_and_modules_that_they_may(shelf, tofu, bob, django_assert_max_num_queries):
    everything = ["acme/vpc/aws", "pantry/bucket/aws", "pantry/vpc/google"]
    assert names(tofu(), "/api/v1/modules", "modules") == everything[1:]
    assert names(tofu(bob), "/api/v1/modules", "modules") == everything
    seen = [
        {row["name"]: row["role"] for row in tofu(who).get("/api/v1/namespaces").json()["namespaces"]}
        for who in (None, bob)
    ]
    assert seen == [{"pantry": None}, {"acme": "reader", "hall": None, "pantry": None}]
    client = tofu(bob)
    for path in ("modules", "providers", "namespaces"):
        with django_assert_max_num_queries(3):
            client.get(f"/api/v1/{path}")


def test_modules_are_searched_filtered_and_sorted(shelf, tofu, bob):
    client = tofu(bob)
    assert names(client, "/api/v1/modules?q=vpc&sort=name", "modules") == ["acme/vpc/aws", "pantry/vpc/google"]
    assert names(client, "/api/v1/modules?q=vpc&namespace=pantry", "modules") == ["pantry/vpc/google"]
    assert names(client, "/api/v1/modules?system=aws&sort=updated", "modules") == ["pantry/bucket/aws", "acme/vpc/aws"]
    row = client.get("/api/v1/modules?q=bucket").json()["modules"][0]
    assert {key: row[key] for key in ("version", "lifecycle", "downloads")} == {
        "version": "2.0.0",
        "lifecycle": "maintained",
        "downloads": 0,
    }


def test_versions_are_listed_with_their_standing(shelf, dora, tofu, bob, charlie):
    said = {"reason": "Use 1.1.0."}
    yank = "/api/v1/modules/acme/vpc/aws/1.0.0/yank"
    assert tofu(dora).post(yank, said, content_type="application/json").status_code == 200
    url = "/api/v1/modules/acme/vpc/aws/versions"
    rows = tofu(bob).get(url).json()["versions"]

    assert [(row["version"], row["lifecycle"], row["reason"]) for row in rows] == [
        ("1.1.0", "maintained", ""),
        ("1.0.0", "yanked", "Use 1.1.0."),
    ]
    assert tofu(charlie).get(url).status_code == 404
    assert tofu().get("/api/v1/modules/pantry/bucket/aws/versions").json()["versions"][0]["lifecycle"] == "maintained"


@pytest.mark.both
def test_namespaces_are_found_by_their_beginning_and_pages_follow_each_other(tofu, pantry, in_pages):
    for number in range(5):
        Namespace.objects.create(name=f"n{number}", canonical=f"n{number}", visibility=Visibility.PUBLIC)

    def found(query):
        return [row["name"] for row in tofu().get(f"/api/v1/namespaces?q={query}").json()["namespaces"]]

    assert (found("PAN"), found("n4"), found("4"), found("%25")) == (["pantry"], ["n4"], [], [])
    rows = in_pages(tofu(), "/api/v1/namespaces", queries=3)
    assert [row["name"] for row in rows] == [*(f"n{number}" for number in range(5)), "pantry"]


@pytest.mark.both
@for_each_row(
    ("query", "found"),
    [
        ("sort=size", "'size' is not a sort order."),
        ("cursor=-1", "The cursor '-1' does not belong to this list."),
        ("q=%00", ""),
    ],
)
def test_a_question_that_makes_no_sense_is_told_what_would(tofu, db, query, found):
    answer = tofu().get(f"/api/v1/modules?{query}")

    assert answer.status_code == (422 if found else 200)
    assert not found or answer.json()["error"]["message"] == found
