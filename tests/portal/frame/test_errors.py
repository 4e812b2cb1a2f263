"""Errors as pages"""

from importlib import import_module

import pytest
from django.contrib.auth.decorators import login_not_required
from django.test import Client
from django.urls import include, path

from apps.lib import errors
from registry_site.server.handler import Utf8Request
from registry_site.urls import handler400, handler403, handler404, handler500  # noqa: F401  # read from ROOT_URLCONF
from registry_site.urls import urlpatterns as site
from tests.rows import for_each_row

portal = import_module("apps.portal.urls")  # after the site's routes, which register the converter that its own name

RAISED = {
    "conflict": (409, errors.Conflict("1.0.0 is published already.", hint="Choose another version.")),
    "unavailable": (503, errors.Unavailable("The storage does not answer.", hint="Wait.")),
    "too-large": (413, errors.TooLarge("101 MB came.", hint="At most 100 MB.")),
    "invalid": (400, errors.Invalid("Version v1 was found.", hint="Use 1.0.0.")),
    "role": (403, errors.RoleRequired("This needs the role owner.", hint="Ask Dora.")),
    "missing": (404, errors.NotFound("There is no such shelf.", hint="Build one.")),
    "defect": (500, ValueError("a secret that no page may show")),
}


@login_not_required
def raising(request, what):
    raise RAISED[what][1]


portal_with_more = ([path("raise/<what>", raising), *portal.urlpatterns], portal.app_name)
urlpatterns = [
    path("api/v1/raise/<what>", raising),
    *(edge for edge in site if getattr(edge, "namespace", "") != "portal"),
    path("", include(portal_with_more)),
]
pytestmark = [pytest.mark.urls("tests.portal.frame.test_errors"), pytest.mark.django_db]


@pytest.fixture
def visitor():
    return Client(raise_request_exception=False)


@for_each_row("what", sorted(set(RAISED) - {"defect"}))
def test_an_error_for_people_is_a_page_with_its_sentence_and_the_hint(visitor, what):
    status, error = RAISED[what]
    assert isinstance(error, errors.RegistryError)

    response = visitor.get(f"/raise/{what}", headers={"X-Request-Id": "tell-olga"})

    page = response.content.decode()
    assert response.status_code == status
    assert str(error) in page
    assert error.hint in page
    assert "tell-olga" in page
    assert '<main id="main"' in page


def test_a_defect_tells_its_request_id_and_nothing_else_and_asks_the_database_nothing(
    visitor, django_assert_num_queries
):
    with django_assert_num_queries(0):
        response = visitor.get("/raise/defect", headers={"X-Request-Id": "tell-olga"})

    page = response.content.decode()
    assert response.status_code == 500
    assert "tell-olga" in page
    assert "secret" not in page


def test_other_edges_keep_their_own_errors(visitor):
    """Outside the portal the middleware does nothing; uncaught exceptions are defects there."""
    assert visitor.get("/api/v1/raise/conflict").json()["error"]["code"] == "internal_error"


def test_an_unknown_page_offers_a_search(visitor):
    response = visitor.get("/no/such/page")

    assert response.status_code == 404
    assert 'action="/search"' in response.content.decode()


@for_each_row("url", ["/v1/nothing", "/api/v1/nothing", "/.well-known/nothing", "/archives/nothing"])
def test_an_unknown_path_of_a_machine_is_no_page(visitor, url):
    response = visitor.get(url)

    assert (response.status_code, response["Content-Type"]) == (404, "application/json")


def test_a_form_without_its_token_is_explained():
    response = Client(enforce_csrf_checks=True).post("/theme", {"theme": "dark"})

    assert response.status_code == 403
    assert "reload the page" in response.content.decode()


def test_a_fragment_sends_the_whole_page_to_sign_in(visitor, acme):
    response = visitor.get("/namespaces/acme", headers={"HX-Request": "true"})

    assert response.status_code == 401
    assert response["HX-Redirect"] == "/account/login/?next=%2Fnamespaces%2Facme"


@pytest.fixture
def own_request(monkeypatch):
    """The test client makes its requests of Django's class: it takes ours, as registry_site/wsgi.py does."""
    monkeypatch.setattr("django.test.client.WSGIRequest", Utf8Request)


@for_each_row("charset", ["rot13", "unicode_escape", "utf-16"])
def test_a_query_string_is_utf8_whatever_charset_is_announced(own_request, client, pantry, charset):
    response = client.generic(
        "GET", "/search", QUERY_STRING=r"q=%5Cud800", data=b"x", content_type=f"text/plain; charset={charset}"
    )

    assert response.status_code == 200
    assert r"\ud800" in response.text


@for_each_row(
    "more",
    [
        {"CONTENT_TYPE": "application/x-www-form-urlencoded; charset=rot13"},
        {"CONTENT_TYPE": "multipart/form-data; boundary=x; charset=utf-7"},
        {"CONTENT_LENGTH": "abc"},
        {"CONTENT_LENGTH": "\xb2"},
    ],
)
def test_headers_that_cannot_be_read_are_a_bad_request(own_request, client, db, more):
    assert (
        client.post("/theme", "theme=dark", content_type="application/x-www-form-urlencoded", **more).status_code == 400
    )


@for_each_row(
    "path",
    ["/modules/acme/%00/aws", "/providers/%00/dns/settings", "/namespaces/a%00", "/modules/acme/vpc/aws/%00/files"],
)
def test_a_page_with_a_nul_in_its_address_is_not_there(visitor, path):
    assert visitor.get(path).status_code == 404
