"""Releases in any state: one by its id, one's own, and those of a namespace."""

import json

import pytest
from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Scope
from apps.lib.addresses import ModuleAddress
from apps.modules import publishing
from tests.builders.archives import MODULE, PRIVATE_KEY, module_zip

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"


def test_a_refused_release_is_shown_to_publishers_with_its_reasons(tofu, bearer, published, alice, bob):
    release = published("acme/vpc/aws", "1.2.0", data=b"this is no zip")
    document = tofu(alice).get(URL).json()

    assert (document["state"], bool(document["reasons"][0]["hint"])) == ("rejected", True)
    assert tofu(bob).get(URL).status_code == 404
    limited = Client(headers=bearer(alice, Scope.PUBLISH, only_name="vpc/aws"))
    for url in (URL, f"/api/v1/releases/{release.public_id}"):
        assert limited.get(url).status_code == 200, "a token for this name follows its own upload"
    impossible = tofu(alice).get(URL.replace("1.2.0", "one"))
    assert impossible.status_code == 422
    assert "expected a version like 1.2.0" in impossible.json()["error"]["message"]


@pytest.fixture
def held(alice, work):
    """Alice's upload from a browser, which has a private key in it."""
    address = ModuleAddress("acme", "vpc", "aws")
    release, _ = publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.2.0")
    publishing.receive(release=release, chunks=iter([module_zip({**MODULE, "id_ed25519": PRIVATE_KEY})]))
    work()
    return f"/api/v1/releases/{release.public_id}"


def answer(client, url, body):
    return client.post(f"{url}/answer", json.dumps(body), content_type="application/json")


def test_a_held_release_goes_on_when_its_questions_are_answered(held, tofu, alice, work):
    client = tofu(alice)
    said = client.get(held).json()
    assert (said["state"], [question["code"] for question in said["questions"]]) == ("held", ["private_key"])

    still_open = answer(client, held, {"confirm": []})
    assert still_open.status_code == 422
    assert "unanswered" in still_open.json()["error"]["message"]
    assert answer(client, held, {"confirm": ["private_key"]}).json()["state"] == "received"
    assert answer(client, held, {"confirm": ["private_key"]}).status_code == 409
    work()
    assert client.get(held).json()["state"] == "published"
    assert client.post(f"{held}/cancel").status_code == 409


def test_a_release_that_waits_is_cancelled_and_its_number_is_free(held, tofu, alice, published):
    ended = tofu(alice).post(f"{held}/cancel").json()

    assert (ended["state"], ended["reasons"][0]["code"]) == ("rejected", "cancelled")
    assert tofu(alice).post(f"{held}/cancel").status_code == 409
    assert published("acme/vpc/aws", "1.2.0").state == "published"


OWN = [("acme/vpc/aws", "1.0.0"), ("pantry/bucket/aws", "2.0.0")]


def test_a_publisher_finds_their_releases_again(published, alice, bob, tofu):
    for address, number in OWN:
        published(address, number)
    found = tofu(alice).get("/api/v1/releases?state=published").json()["releases"]

    assert [(row["namespace"], row["name"], row["version"]) for row in found] == [
        ("pantry", "bucket/aws", "2.0.0"),
        ("acme", "vpc/aws", "1.0.0"),
    ]
    assert tofu(alice).get(f"/api/v1/releases/{found[0]['id']}").json()["version"] == "2.0.0"
    assert tofu(bob).get("/api/v1/releases").json() == {"releases": [], "next": None}
    assert tofu(alice).get("/api/v1/releases?state=lost").status_code == 422


@pytest.mark.both
def test_publishers_read_what_happens_in_their_namespace(published, dora, tofu):
    for address, number in OWN:
        published(address, number)
    published("acme/vpc/aws", "1.1.0", data=b"this is no zip")
    published("acme/dns/aws", "1.0.0", user=dora)

    def rows(query=""):
        answer = tofu(dora).get(f"/api/v1/namespaces/acme/releases{query}").json()
        return [(row["name"], row["version"], row["state"], row["by"]) for row in answer["releases"]]

    everything = [
        ("dns/aws", "1.0.0", "published", "dora"),
        ("vpc/aws", "1.1.0", "rejected", "alice"),
        ("vpc/aws", "1.0.0", "published", "alice"),
    ]
    assert rows() == everything
    assert rows("?state=refused") == everything[1:2]
    assert rows("?state=held") == []
    assert tofu(dora).get("/api/v1/namespaces/acme/releases?state=lost").status_code == 422


def test_the_list_of_a_namespace_has_pages_and_few_queries(published, dora, tofu, in_pages):
    for number in range(3):
        published("acme/vpc/aws", f"1.{number}.0", user=dora)
    rows = in_pages(tofu(dora), "/api/v1/namespaces/acme/releases", queries=3)

    assert [row["version"] for row in rows] == ["1.2.0", "1.1.0", "1.0.0"]


@pytest.mark.both
def test_a_list_of_the_newest_continues_where_it_was_and_any_other_one_ends_at_a_limit(
    published, dora, tofu, monkeypatch
):
    monkeypatch.setattr("apps.api.frame.base.PAGE_SIZE", 2)
    client, url = tofu(dora), "/api/v1/namespaces/acme/releases"
    for number in range(3):
        published("acme/vpc/aws", f"1.{number}.0", user=dora)
    first = client.get(url).json()
    published("acme/vpc/aws", "1.3.0", user=dora)
    second = client.get(first["next"]).json()

    assert [row["version"] for row in [*first["releases"], *second["releases"]]] == ["1.2.0", "1.1.0", "1.0.0"]
    for beyond in (f"{url}?cursor=2", "/api/v1/releases?cursor=100001"):
        assert client.get(beyond).status_code == 422
