"""The security headers of every kind of answer, as browsers read them."""

import pytest
from django.test import Client

from tests.rows import for_each_row

POLICY = {
    "default-src": {"'none'"},
    "script-src": {"'self'"},
    "style-src": {"'self'"},
    "img-src": {"'self'", "data:"},
    "font-src": {"'self'"},
    "connect-src": {"'self'"},
    "form-action": {"'self'"},
    "base-uri": {"'none'"},
    "frame-ancestors": {"'none'"},
    "object-src": {"'none'"},
}
PAGES = ["/", "/modules", "/account/login/", "/tokens", "/admin/", "/admin/accounts/user/", "/no/such/page", "/healthz"]
DOCUMENTS = ["/v1/modules", "/v2/", "/api/v1/nothing", "/.well-known/terraform.json", "/archives/x", "/uploads/x"]
STATIC = ["/static/css/base.css", "/static/admin/js/core.js"]


@pytest.fixture
def browser(olga, browser_of):
    return browser_of(olga)


def policy_of(answer):
    directives = [directive.split() for directive in answer.headers["Content-Security-Policy"].split(";")]
    return {name: set(sources) for name, *sources in directives}


@for_each_row("url", [*PAGES, *DOCUMENTS, *STATIC])
def test_every_answer_has_the_headers_that_bind_browsers(browser, url):
    answer = browser.get(url)

    assert policy_of(answer) == POLICY, "no inline code, nothing from elsewhere, no frame"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    permissions = answer.headers["Permissions-Policy"].split(", ")
    assert {"camera=()", "geolocation=()", "microphone=()", "payment=()", "usb=()"} <= set(permissions)


@for_each_row("url", PAGES)
def test_no_page_is_shown_in_a_frame(browser, url):
    assert browser.get(url).headers["X-Frame-Options"] == "DENY"


@for_each_row("url", ["/", "/tokens", "/admin/", "/account/login/"])
def test_what_depends_on_the_reader_is_kept_by_nobody_else(browser, url):
    assert "private" in browser.get(url).headers["Cache-Control"]


@for_each_row(("seconds", "shown"), [(0, None), (31_536_000, "max-age=31536000")])
def test_strict_transport_security_is_sent_where_an_operator_asks_for_it(db, settings, seconds, shown):
    settings.SECURE_HSTS_SECONDS = seconds

    assert Client().get("/healthz", secure=True).headers.get("Strict-Transport-Security") == shown
    assert "Strict-Transport-Security" not in Client().get("/healthz").headers, "it would count for nothing over http"


def test_a_host_or_a_scheme_that_only_a_header_forwards_counts_for_nothing(client, db):
    answer = client.get("/account/login/", headers={"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"})

    assert answer.status_code == 200
    assert "evil.example" not in answer.text
    assert answer.wsgi_request.is_secure() is False


@for_each_row(
    "path", ["/static/", "/static/css", "/static/css/", "/static/../manage.py", "/static/%2e%2e/manage.py", "/uploads/"]
)
def test_no_folder_is_listed_and_none_is_left(browser, path):
    assert browser.get(path).status_code == 404
