"""LARDER_SECOND_FACTOR: who has none is led to one, and does nothing else in a browser. The policy has each route."""

import re

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.core.management import call_command
from django.test import Client

from apps.accounts.models import Grant, Membership, Role, Scope, Team, User
from tests.accounts.identity.test_second_factor import PAGE, code_of, password, secret_on, set_up, signed_in
from tests.rows import for_each_row


@pytest.fixture(autouse=True)
def everybody(settings):
    cache.clear()
    settings.SECOND_FACTOR = "everyone"


@for_each_row(
    ("setting", "led"),
    [
        ("off", []),
        ("staff", ["olga"]),
        ("owners", ["olga", "dora", "bob"]),
        ("everyone", ["olga", "dora", "bob", "charlie"]),
    ],
)
def test_the_setting_says_who_needs_one(settings, acme, olga, dora, bob, charlie, browser_of, setting, led):
    settings.SECOND_FACTOR = setting
    team = Team.objects.create(name="owners")
    Membership.objects.create(team=team, user=bob)
    Grant.objects.create(namespace=acme, team=team, role=Role.OWNER)
    found = [user.username for user in (olga, dora, bob, charlie) if not signed_in(browser_of(user))]
    assert found == led


def test_who_has_none_is_led_to_it_and_then_to_where_they_went(bob, pantry):
    client, answer = password(bob)
    led = client.get(answer.url)
    assert (led.status_code, led.url) == (302, f"{PAGE}?next=%2Ftokens")
    assert "Until you set one up, you see only public pages" in client.get(led.url).text

    home = client.get("/namespaces/pantry").text
    assert "You need a second factor" in home
    assert client.get("/namespaces/acme").status_code == 302
    assert client.post("/tokens", {"label": "x", "scope": "read", "days": 1}).url == f"{PAGE}?next=%2F"

    secret = secret_on(client.get(led.url).text)
    shown = client.post(led.url, {"digits": code_of(secret, -1)})
    assert 'href="/tokens">Continue' in client.get(shown.url).text
    assert client.get("/tokens").status_code == 200


def test_an_older_session_shows_the_factor_that_its_person_has_now(bob, browser_of):
    secret, _ = set_up(browser_of(bob))
    older = browser_of(bob)  # as from a release in which it did not end
    led = older.get("/tokens")
    assert led.url == "/account/reauthenticate/?next=%2Ftokens"
    page = older.get(led.url).text
    assert ('type="password"' in page, 'name="code"' in page) == (False, True)
    assert older.post(led.url, {"password": "bob likes pears", "next": "/tokens"}).status_code == 403
    assert not signed_in(older)
    assert older.get(PAGE).status_code == 302
    assert older.post(led.url, {"code": code_of(secret), "next": "/tokens"}).url == "/tokens"
    assert older.get("/tokens").status_code == 200


def test_nobody_turns_off_what_they_must_have(bob, browser_of):
    client = browser_of(bob)
    secret, _ = set_up(client)
    assert client.post(f"{PAGE}/off", {"code": code_of(secret)}).status_code == 409
    assert Authenticator.objects.filter(user=bob).exists()


def test_the_admin_leads_there_as_well(olga, browser_of):
    for url in ("/admin/", "/admin/accounts/user/", "/admin/login/"):
        assert browser_of(olga).get(url).url.partition("?")[0] == PAGE
    assert browser_of(olga).post("/admin/accounts/team/add/", {"name": "cooks"}).url == f"{PAGE}?next=%2F"


def test_a_fragment_is_led_with_its_whole_page(bob, browser_of, acme):
    answer = browser_of(bob).get("/namespaces/acme", headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"].partition("?")[0]) == (401, PAGE)


def test_tokens_have_no_session_and_keep_working(bob, tofu, published):
    published()
    assert tofu(bob, Scope.READ).get("/v1/modules/acme/vpc/aws/versions").status_code == 200


def test_a_link_from_the_host_asks_for_the_code(olga, browser_of, capsys):
    secret, _ = set_up(browser_of(olga))
    call_command("break_glass", "olga")
    link = re.sub(r"^https://[^/]+", "", capsys.readouterr().out.strip())
    client = Client()
    answer = client.post(link)
    assert answer.headers["Location"] == "/account/verify/"
    assert not signed_in(client)
    client.post("/account/verify/", {"code": code_of(secret)})
    assert signed_in(client)
    assert client.post(link).status_code == 404


def test_a_second_factor_of_one_person_is_none_of_the_next_in_the_same_browser(bob, charlie, browser_of):
    client = browser_of(bob)
    set_up(client)
    assert signed_in(client)
    client.post("/account/logout/")
    password(charlie, client)
    assert not signed_in(client)
    assert User.objects.count() == 2
