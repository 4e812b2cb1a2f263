import json

from django.test import Client
from django.urls import resolve

from tests.rows import for_each_row

URL = "/.well-known/terraform.json"


def test_discovery_document_is_frozen(tofu, alice, golden):
    response = tofu(alice).get(URL)

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.content == golden("modules_v1/discovery.json")


def test_it_names_only_services_that_are_here():
    services = json.loads(Client().get(URL).content)

    login = services.pop("login.v1")
    assert services == {"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"}
    assert [resolve(login[name]).url_name for name in ("authz", "token")] == ["login-authorize", "login-token"]
    assert login["ports"][1] - login["ports"][0] >= 10, "clients leave out the last one"


@for_each_row("authorization", ["", "Bearer nonsense", "Basic %%%", "Bearer lrd_u_x", "Digest a=b"])
def test_it_answers_anybody_a_bad_token_included_without_a_query(django_assert_num_queries, db, authorization):
    headers = {"Authorization": authorization} if authorization else {}
    with django_assert_num_queries(0):
        response = Client(headers=headers).get(URL)

    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "public, max-age=300"
    assert "Vary" not in response.headers


def test_it_answers_while_the_database_is_away(db, database_away):
    with database_away():
        assert Client().get(URL).status_code == 200


@for_each_row("accept", ["text/html", "application/json", "application/xml;q=0.9", "nonsense", "*/*"])
def test_it_ignores_accept(accept):
    response = Client(headers={"Accept": accept}).get(URL)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")


def test_head_has_the_length_and_no_body():
    response = Client().head(URL)

    assert response.status_code == 200
    assert response.content == b""
    assert int(response.headers["Content-Length"]) > 10


@for_each_row("method", ["post", "put", "patch", "delete", "options"])
def test_other_methods_are_refused_in_json(method, golden):
    response = getattr(Client(), method)(URL)

    assert response.status_code == 405
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Allow"] == "GET, HEAD"
    assert response.content == golden("modules_v1/error-405.json").replace(b"POST", method.upper().encode())
