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


@for_each_row(
    "headers",
    [{"Authorization": value} for value in ("Bearer nonsense", "Basic %%%", "Bearer lrd_u_x", "Digest a=b")]
    + [{"Accept": value} for value in ("text/html", "application/json", "application/xml;q=0.9", "nonsense", "*/*")]
    + [{}],
)
def test_it_answers_anybody_whatever_the_token_or_the_type_without_a_query(django_assert_num_queries, db, headers):
    with django_assert_num_queries(0):
        response, head = Client(headers=headers).get(URL), Client(headers=headers).head(URL)

    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.headers["Cache-Control"] == "public, max-age=300"
    assert "Vary" not in response.headers
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(response.content))


def test_it_answers_while_the_database_is_away(db, database_away):
    with database_away():
        assert Client().get(URL).status_code == 200


@for_each_row("method", ["post", "put", "patch", "delete", "options"])
def test_other_methods_are_refused_in_json(method, golden):
    response = getattr(Client(), method)(URL)

    assert response.status_code == 405
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Allow"] == "GET, HEAD"
    assert response.content == golden("modules_v1/error-405.json").replace(b"POST", method.upper().encode())
