import json

import pytest
from django.test import Client

from apps.accounts.models import Scope

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"


@pytest.mark.parametrize(
    ("who", "document", "by_id"),
    [("alice", 200, 200), ("bob", 200, 403), ("charlie", 404, 404), ("olga", 200, 200), (None, 401, 401)],
)
def test_a_published_release_is_shown_to_readers_and_by_id_to_publishers(
    request, tofu, published, who, document, by_id
):
    release = published("acme/vpc/aws", "1.2.0")
    client = tofu(request.getfixturevalue(who) if who else None)

    assert client.get(URL).status_code == document
    assert client.get(f"/api/v1/releases/{release.public_id}").status_code == by_id


@pytest.mark.parametrize(
    ("who", "status"), [("alice", 200), ("bob", 404), ("charlie", 404), ("olga", 200), (None, 401)]
)
def test_a_refused_release_is_shown_to_publishers_with_its_reasons(request, tofu, published, who, status):
    published("acme/vpc/aws", "1.2.0", data=b"this is no zip")
    response = tofu(request.getfixturevalue(who) if who else None).get(URL)

    assert response.status_code == status
    if status == 200:
        document = json.loads(response.content)
        assert document["state"] == "rejected"
        assert document["reasons"][0]["hint"]


def test_a_public_release_is_shown_to_anybody(published):
    published("pantry/vpc/aws", "1.2.0")
    response = Client().get(URL.replace("acme", "pantry"))

    assert response.status_code == 200
    assert json.loads(response.content)["state"] == "published"


def test_a_token_that_is_limited_to_a_name_follows_its_own_upload(alice, bearer, published):
    release = published("acme/vpc/aws", "1.2.0", data=b"this is no zip")
    client = Client(headers=bearer(alice, Scope.PUBLISH, only_name="vpc/aws"))

    assert client.get(URL).status_code == 200
    assert client.get(f"/api/v1/releases/{release.public_id}").status_code == 200


@pytest.mark.parametrize("public_id", ["nonsense", "00000000-0000-0000-0000-000000000000", "a%00b", "%ff"])
def test_an_unknown_id_is_404(tofu, alice, public_id):
    response = tofu(alice).get(f"/api/v1/releases/{public_id}")

    assert response.status_code == 404
    assert json.loads(response.content)["error"]["code"] == "not_found"
