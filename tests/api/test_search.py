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
def test_it_answers_the_groups_of_what_the_caller_may_see(shelf, tofu, bob, charlie):
    said = asked(tofu(bob), "nat")
    groups = {group["kind"]: [(row["name"], row["address"]) for row in group["results"]] for group in said["groups"]}

    assert groups == {
        "modules": [("nat/aws", "pantry/nat/aws")],
        "inputs": [("enable_nat", "pantry/nat/aws"), ("enable_nat", "acme/vpc/aws")],
    }
    empty = {"corrected": {}, "complete": True}
    assert said == {"query": "nat", "words": ["nat"], "groups": said["groups"], **empty}
    assert said["groups"][0]["results"][0]["version"] == "1.0.0"
    assert [group["kind"] for group in asked(tofu(bob), "peering")["groups"]] == ["readmes"]
    for hidden in ("vpc", "vcp", "acme"):
        assert asked(tofu(charlie), hidden) | {"words": []} == {"query": hidden, "words": [], "groups": [], **empty}


def test_what_is_yanked_goes_at_once_and_comes_back(shelf, tofu, dora, bob):
    client, manager = tofu(bob), tofu(dora)
    for verb, found in (("yank", ["pantry/nat/aws"]), ("restore", ["pantry/nat/aws", "acme/vpc/aws"])):
        url, why = f"/api/v1/modules/acme/vpc/aws/1.0.0/{verb}", {"reason": "It leaks."}
        assert manager.post(url, why, content_type="application/json").status_code == 200
        assert [row["address"] for row in asked(client, "enable_nat")["groups"][0]["results"]] == found


def test_one_group_can_be_asked_for(shelf, tofu):
    assert [group["kind"] for group in asked(tofu(), "nat", **{"in": "inputs"})["groups"]] == ["inputs"]
    refused = tofu().get("/api/v1/search?q=nat&in=secrets")
    assert refused.status_code == 422
    assert "modules, providers" in refused.json()["error"]["hint"]
