"""Names in other spellings: modules answer to one, and say which; providers answer as clients fold them."""

import json

import pytest

from apps.accounts.models import Grant, Namespace, Role, Visibility
from tests.builders.providers import dist
from tests.protocol.providers import cast
from tests.rows import for_each_row

AKS = "Azure/aks/azurerm"


@pytest.fixture
def azure(alice):
    namespace = Namespace.objects.create(name="Azure", canonical="azure", visibility=Visibility.PUBLIC)
    Grant.objects.create(namespace=namespace, user=alice, role=Role.PUBLISHER)
    return namespace


@pytest.fixture
def my_team(alice):
    namespace = Namespace.objects.create(name="My_Team", canonical="my-team", visibility=Visibility.PRIVATE)
    Grant.objects.create(namespace=namespace, user=alice, role=Role.OWNER)
    return namespace


def errors(response):
    return " ".join(json.loads(response.content)["errors"])


@pytest.mark.both
@for_each_row("path", ["azure/aks/azurerm", "AZURE/nothing/azurerm"])
def test_a_public_namespace_in_another_letter_case_is_404_for_anybody_and_says_the_right_one(
    tofu, charlie, azure, published, path
):
    published(AKS, "1.0.0")
    for reader in (None, charlie):
        response = tofu(reader).get(f"/v1/modules/{path}/versions")
        assert response.status_code == 404
        assert "Did you mean 'Azure'?" in errors(response)


def test_a_hidden_namespace_is_unknown_in_every_spelling(tofu, azure, my_team, published):
    published(AKS, "1.0.0")
    answers = [
        tofu().get(f"/v1/modules/{name}/vpc/aws/versions") for name in ("My_Team", "my-team", "my_team", "nothing")
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.both
@for_each_row(
    ("path", "nearest"),
    [
        ("Azure/AKS/azurerm", AKS),
        ("Azure/akz/azurerm", AKS),
        ("Azure/aks/aws", AKS),
        ("Azure/net-work/azurerm", "Azure/net_work/azurerm"),
        ("Azure/database/azurerm", None),  # it is like no other
    ],
)
def test_an_unknown_module_is_404_with_the_nearest_name(tofu, browser_of, azure, published, path, nearest):
    published(AKS, "1.0.0")
    published("Azure/net_work/azurerm", "1.0.0")
    response = tofu().get(f"/v1/modules/{path}/versions")
    assert response.status_code == 404
    if nearest is None:
        assert "Did you mean" not in errors(response)
        return
    assert f"Did you mean {nearest}?" in errors(response)
    assert f"Did you mean {nearest}?" in tofu().get(f"/api/v1/modules/{path}").json()["error"]["hint"]
    page = browser_of(None).get(f"/modules/{path}")
    assert page.status_code == 404
    assert f'href="/modules/{nearest}">{nearest}</a>' in page.content.decode()


@for_each_row("spelling", ["My_Team", "my-team"])
def test_api_and_pages_of_a_provider_answer_in_both_spellings(tofu, browser_of, alice, my_team, spelling):
    cast.add_version(cast.frozen_key(my_team), None, "dns", "1.0.0")
    client, browser = tofu(alice), browser_of(alice)
    for path in ("", "/versions", "/1.0.0", "/downloads", "/dependents", "/outdated"):
        response = client.get(f"/api/v1/providers/{spelling}/dns{path}")
        assert response.status_code == 200, path
        assert response.content == client.get(f"/api/v1/providers/My_Team/dns{path}").content
    for path in ("", "/versions", "/1.0.0", "/1.0.0/platforms", "/1.0.0/origin", "/1.0.0/lifecycle"):
        page = browser.get(f"/providers/{spelling}/dns{path}", follow=True)
        assert page.status_code == 200, path
        assert "/dns/1.0.0" in page.text


def test_a_provider_is_published_and_deprecated_by_the_name_that_configurations_have(tofu, alice, my_team, work):
    client, draft = tofu(alice), "/api/v1/providers/my-team/dns/1.0.0"
    opened = client.post(draft, {"protocols": ["5.0"]}, content_type="application/json")
    assert opened.status_code == 201
    for name, data in dist("dns", "1.0.0", protocols=()).items():
        sent = client.put(f"{draft}/files/{name}", data, content_type="application/octet-stream")
        assert sent.status_code in (200, 201)
    assert client.get(draft).json()["namespace"] == "My_Team"

    cast.add_version(cast.frozen_key(my_team), None, "dns", "0.9.0")
    old = "/api/v1/providers/my-team/dns/0.9.0"
    done = client.post(f"{old}/deprecate", {"reason": "Old."}, content_type="application/json")
    assert (done.status_code, done.json()["lifecycle"]["state"]) == (200, "deprecated")
