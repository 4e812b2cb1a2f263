"""GET /api/v1/search: the groups of the search page."""

import pytest

from tests.builders.archives import module_zip


@pytest.fixture
def shelf(published):
    """acme is private, pantry public."""
    files = {"main.tf": 'variable "enable_nat" {\n  type = bool\n}\n'}
    readme = {"README.md": "# Network\n\nHas one range.\n\nAccounts are joined by peering.\n"}
    published("acme/vpc/aws", "1.0.0", module_zip(files | readme))
    published("pantry/nat/aws", "1.0.0", module_zip(files))


def asked(client, query, **more):
    answer = client.get("/api/v1/search", {"q": query, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.both
def test_it_answers_the_groups_of_what_the_caller_may_see(shelf, tofu, bob):
    said = asked(tofu(bob), "nat")
    groups = {group["kind"]: [(row["name"], row["address"]) for row in group["results"]] for group in said["groups"]}

    assert groups == {
        "modules": [("nat/aws", "pantry/nat/aws")],
        "inputs": [("enable_nat", "pantry/nat/aws"), ("enable_nat", "acme/vpc/aws")],
    }
    assert {key: said[key] for key in ("query", "words", "corrected", "complete")} == {
        "query": "nat",
        "words": ["nat"],
        "corrected": {},
        "complete": True,
    }
    assert said["groups"][0]["results"][0]["version"] == "1.0.0"
    assert [group["kind"] for group in asked(tofu(bob), "peering")["groups"]] == ["readmes"]


def test_a_stranger_learns_nothing(shelf, tofu, charlie):
    for client in (tofu(), tofu(charlie)):
        assert [group["count"] for group in asked(client, "enable_nat")["groups"]] == [1]
        for hidden in ("vpc", "vcp", "acme"):
            assert asked(client, hidden) | {"query": "", "words": []} == {
                "query": "",
                "words": [],
                "corrected": {},
                "complete": True,
                "groups": [],
            }


def test_what_is_yanked_or_hidden_goes_at_once(shelf, tofu, dora, bob):
    client, manager = tofu(bob), tofu(dora)
    url = "/api/v1/modules/acme/vpc/aws/1.0.0/"
    yanked = manager.post(f"{url}yank", {"reason": "Old."}, content_type="application/json")
    assert yanked.status_code == 200
    assert [row["address"] for row in asked(client, "enable_nat")["groups"][0]["results"]] == ["pantry/nat/aws"]
    assert asked(client, "peering")["groups"] == []
    restored = manager.post(f"{url}restore", {"reason": "Fine."}, content_type="application/json")
    assert restored.status_code == 200
    assert asked(client, "enable_nat")["groups"][0]["count"] == 2


def test_one_group_can_be_asked_for(shelf, tofu):
    assert [group["kind"] for group in asked(tofu(), "nat", **{"in": "inputs"})["groups"]] == ["inputs"]
    refused = tofu().get("/api/v1/search?q=nat&in=secrets")
    assert refused.status_code == 422
    assert "modules, providers" in refused.json()["error"]["hint"]
