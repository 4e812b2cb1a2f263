import json

import pytest
from django.test import Client

PATHS = ["namespaces/acme", "modules/acme/vpc/aws/1.0.0", "releases/00000000-0000-0000-0000-000000000000"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("authorization", ["", "Bearer nonsense"])
def test_401_says_how_to_make_a_token(acme, path, authorization):
    response = Client(headers={"Authorization": authorization} if authorization else {}).get(f"/api/v1/{path}")
    error = json.loads(response.content)["error"]

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="Larder"'
    assert list(error) == ["code", "message", "mend", "reasons"]
    assert error["code"] == "unauthenticated"
    assert "/tokens" in error["mend"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["post", "delete", "options"])
def test_other_methods_are_refused_in_json(tofu, alice, path, method):
    response = getattr(tofu(alice), method)(f"/api/v1/{path}")

    assert response.status_code == 405
    assert response.headers["Content-Type"] == "application/json"
    assert json.loads(response.content)["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["", "nothing", "modules/acme/vpc", "modules/acme/vpc/aws/1.0.0/", "a%2Fb%0a"])
@pytest.mark.parametrize("method", ["get", "put", "post"])
def test_what_is_not_there_is_404_in_this_dialect(db, path, method):
    response = getattr(Client(), method)(f"/api/v1/{path}")

    assert response.status_code == 404
    assert json.loads(response.content)["error"]["code"] == "not_found"


@pytest.mark.parametrize("path", PATHS)
def test_head_answers_as_get_without_a_body(tofu, olga, published, path):
    release = published("acme/vpc/aws", "1.0.0")
    path = path.replace("00000000-0000-0000-0000-000000000000", str(release.public_id))
    response = tofu(olga).head(f"/api/v1/{path}")

    assert (response.status_code, response.content) == (200, b"")


def test_answers_are_for_the_asker_alone(tofu, bob):
    headers = tofu(bob).get("/api/v1/namespaces/acme").headers

    assert headers["Cache-Control"] == "private, no-cache"
    assert headers["Vary"] == "Authorization"


@pytest.mark.parametrize("path", PATHS)
def test_an_outage_is_503_and_says_when_to_ask_again(tofu, alice, path, database_away):
    client = tofu(alice)
    with database_away():
        response = client.get(f"/api/v1/{path}")

    assert response.status_code == 503
    assert response.headers["Retry-After"] == "2"
    assert json.loads(response.content)["error"]["code"] == "unavailable"
