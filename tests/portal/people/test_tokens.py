"""/tokens: made, shown once, listed without its secret, revoked by its person alone."""

import html
import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Scope
from apps.accounts.people import teams
from apps.audit.models import AuditEvent
from apps.portal.frame.one_time_secret import COOKIE_NAME
from apps.snippets.client_setup import ways_to_use
from tests import pages
from tests.rows import for_each_row

NEW = {"label": "CI of vpc", "scope": "publish", "days": "90"}


@pytest.fixture
def browser(alice, browser_of):
    return browser_of(alice)


def secret_on(response) -> str:
    return re.findall(tokens.TOKEN_PATTERN, response.content.decode())[0]


def created(browser, **more):
    """The page to which a new token leads, and its URL."""
    answer = browser.post("/tokens", NEW | more)
    assert answer.status_code == 303
    return browser.get(answer.url), answer.url


def test_it_is_shown_once_and_never_in_a_url(browser, alice):
    response, url = created(browser, namespaces=["acme"], only_name="vpc/aws")

    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-store"
    secret = secret_on(response)
    token = tokens.identify(secret)
    assert (token.user, token.scope, token.only_name) == (alice, Scope.PUBLISH, "vpc/aws")
    assert [namespace.name for namespace in token.namespaces.all()] == ["acme"]
    assert secret not in url
    for path in ("/tokens", url, url):
        page = browser.get(path).content.decode()
        assert secret not in page
    assert "This token cannot be shown again" in page
    assert ApiToken.objects.count() == 1
    assert token.start in browser.get("/tokens").content.decode()
    assert str(list(AuditEvent.objects.values())).count(secret) == 0


def test_the_page_says_how_to_use_it_on_this_host(browser, settings):
    settings.PUBLIC_HOST = "127.0.0.1:8443"
    response, _ = created(browser)
    page, secret = html.unescape(response.content.decode()), secret_on(response)

    assert f'credentials "127.0.0.1:8443" {{\n  token = "{secret}"\n}}' in page
    assert f"machine 127.0.0.1 login larder password {secret}" in page
    assert "TF_TOKEN_127" not in page
    assert ways_to_use("s", "my-registry.example.com")["variable"] == "TF_TOKEN_my__registry_example_com=s"


def test_until_it_is_shown_neither_the_database_nor_the_cookie_alone_holds_it(browser, alice, browser_of):
    answer = browser.post("/tokens", NEW)
    cookie = answer.cookies[COOKIE_NAME]
    assert (cookie["path"], cookie["samesite"], cookie["httponly"]) == (answer.url, "Strict", True)
    rows = [row.get_decoded() for row in Session.objects.all()]
    assert any(answer.url in row.get("one-time", {}) for row in rows)
    assert re.findall(tokens.TOKEN_PATTERN, f"{rows} {cookie.value}") == []

    elsewhere = browser_of(alice)
    elsewhere.cookies[COOKIE_NAME] = cookie.value
    assert "cannot be shown again" in elsewhere.get(answer.url).content.decode(), "the session is missing"
    browser.head(answer.url)
    assert secret_on(browser.get(answer.url))
    assert all("one-time" not in row.get_decoded() for row in Session.objects.all())


def test_of_two_that_were_made_at_once_each_is_shown_with_its_own_cookie(browser):
    first = browser.post("/tokens", NEW)
    key = first.cookies[COOKIE_NAME].value
    second, _ = created(browser)
    browser.cookies[COOKIE_NAME] = key  # a browser keeps one for each path
    assert secret_on(browser.get(first.url)) != secret_on(second)
    third = browser.post("/tokens", NEW)
    del browser.cookies[COOKIE_NAME]
    assert "cannot be shown again" in browser.get(third.url).text


@for_each_row(
    ("wrong", "field"),
    [
        ({"label": ""}, "label"),
        ({"scope": "root"}, "scope"),
        ({"days": "366"}, "days"),
        ({"namespaces": ["nope"]}, "namespaces"),
        ({"only_name": "vpc/AWS"}, "__all__"),
    ],
)
def test_it_says_what_is_wrong_beside_the_field(browser, wrong, field):
    response = browser.post("/tokens", NEW | wrong)

    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert not ApiToken.objects.exists()


def test_a_namespace_that_is_hidden_reads_like_one_that_is_not_there(acme, charlie, browser_of):
    browser = browser_of(charlie)
    errors = [
        str(browser.post("/tokens", NEW | {"namespaces": [name]}).context["form"].errors).replace(name, "…")
        for name in ("acme", "nope")
    ]

    assert errors[0] == errors[1]
    assert "acme" not in browser.get("/tokens").content.decode()


def test_it_asks_before_it_revokes(browser, alice):
    token = tokens.issue(user=alice, label="Old laptop", scope=Scope.READ, actor=Viewer(alice))[0]
    page = browser.get(f"/tokens/{token.pk}/revoke")
    assert "Old laptop" in page.content.decode()
    assert "No one is hit: it was not used in the last 30 days." in pages.shown(page)
    ApiToken.objects.update(last_used_at=timezone.now(), last_used_by="OpenTofu 1.12.6", last_used_from="192.0.2.7")
    page = pages.shown(browser.get(f"/tokens/{token.pk}/revoke"))
    assert "<span>client is refused from now on</span>" in page
    assert "OpenTofu 1.12.6" in page.partition("<h3>Clients that are refused from now on</h3>")[2]
    assert not ApiToken.objects.exclude(revoked_at=None).exists()

    assert browser.post(f"/tokens/{token.pk}/revoke").status_code == 303

    assert ApiToken.objects.exclude(revoked_at=None).get() == token
    assert "Revoked" in browser.get("/tokens").content.decode()


def test_it_says_when_by_whom_and_from_where_each_was_used_and_which_ends_soon(browser, alice):
    token = tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))[0]
    page = browser.get("/tokens").content.decode()
    assert "never used" in page
    assert "Expires soon" not in page

    ApiToken.objects.filter(pk=token.pk).update(
        last_used_at=timezone.now(),
        last_used_by="OpenTofu/1.12.6",
        last_used_from="10.0.0.9",
        created_at=timezone.now() - timedelta(days=84),
        expires_at=timezone.now() + timedelta(days=6),
    )

    page = browser.get("/tokens").content.decode()
    for said in ("OpenTofu/1.12.6", "10.0.0.9", "Expires soon"):
        assert said in page, said


def test_the_list_costs_the_same_at_any_length(browser, alice, acme, django_assert_max_num_queries):
    for number in range(30):
        tokens.issue(user=alice, label=f"t{number}", scope=Scope.READ, namespaces=[acme], actor=Viewer(alice))

    with django_assert_max_num_queries(7):  # session, user, tokens, their namespaces, the form's, managed teams
        assert browser.get("/tokens").status_code == 200


def test_namespaces_are_boxes_until_there_are_many(browser, alice, acme, monkeypatch):
    assert re.search(r'<input type="checkbox" name="namespaces" value="acme"', browser.get("/tokens").content.decode())
    monkeypatch.setattr("apps.portal.people.tokens.MOST_BOXES", 0)
    assert '<select name="namespaces"' in browser.get("/tokens").content.decode()


def test_a_pipeline_is_led_to_the_service_accounts_of_teams_that_one_manages(browser, alice, bob, browser_of):
    page = pages.markup_of(browser.get("/tokens"))
    assert 'see <a href="/teams">your teams</a>' in page
    assert "For example: my laptop." in page
    teams.create(name="cooks", actor=Viewer(alice))

    assert 'href="/teams/cooks#machines"' in browser.get("/tokens").content.decode()
    assert 'id="machines"' in browser.get("/teams/cooks").content.decode()
    stranger = browser_of(bob).get("/tokens").content.decode()
    assert "cooks" not in stranger
    assert "The managers of a team create it" in stranger
