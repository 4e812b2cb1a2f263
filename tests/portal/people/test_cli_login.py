"""/oauth/authorize: the page on which a person allows `tofu login`; what it refuses it never redirects."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from apps.accounts.models import LoginCode
from tests.accounts.identity.test_cli_login import ASKED
from tests.rows import for_each_row
from tests.sessions import sign_in

URL = "/oauth/authorize"


@pytest.fixture
def browser(alice, browser_of):
    return browser_of(alice)


def test_it_names_host_person_and_what_is_granted(browser, settings):
    page = browser.get(URL, ASKED)
    text = page.content.decode()

    assert page.status_code == 200
    for said in ("alice", settings.PUBLIC_HOST, "scope read", "90 days", "http://localhost:10006"):
        assert said in text, said
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "form-action 'self' http://localhost:10006;" in page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
    assert not LoginCode.objects.exists()


def test_it_leads_through_the_sign_in_page_and_back(alice):
    client = Client()
    asked = client.get(URL, ASKED)
    assert asked.status_code == 302
    sign_in = asked.headers["Location"]
    after = parse_qs(urlsplit(sign_in).query)["next"][0]

    signed_in = client.post(sign_in, {"login": "alice", "password": "alice likes pears"})

    assert signed_in.headers["Location"] == after
    assert client.get(after).context["origin"] == "http://localhost:10006"


def test_allowing_it_sends_code_and_state_to_the_client_alone(browser):
    answer = browser.post(URL, ASKED | {"machine": "desk", "decision": "allow"})

    assert answer.status_code == 303
    address, _, query = answer.url.partition("?")
    assert address == "http://localhost:10006/login"
    assert parse_qs(query)["state"] == [ASKED["state"]]
    cookie = answer.cookies["__Host-larder-computer"]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (True, True, "Lax")
    assert cookie.value not in str(LoginCode.objects.values())
    assert 'value="desk"' in browser.get(URL, ASKED).content.decode(), "the name is remembered for this browser"


def test_refusing_it_leaves_no_code_and_does_not_redirect(browser):
    answer = browser.post(URL, ASKED | {"machine": "desk", "decision": "refuse"})

    assert (answer.status_code, LoginCode.objects.count()) == (200, 0)
    assert "Ctrl-C" in answer.content.decode()


# tests/accounts/identity/test_cli_login.py has all of them.
WRONG = [{"client_id": "terraform-cli"}, {"state": ""}, {"redirect_uri": "https://evil.example/login"}]


@for_each_row("wrong", WRONG)
def test_a_wrong_request_is_a_page_and_never_a_redirect(browser, wrong):
    for answer in (browser.get(URL, ASKED | wrong), browser.post(URL, ASKED | wrong | {"decision": "allow"})):
        assert answer.status_code == 400
        assert next(iter(wrong)) in answer.content.decode()
        assert "Location" not in answer.headers
    assert not LoginCode.objects.exists()


@for_each_row("machine", ["", " ", "x" * 41, "a\u202eb", "a\0b"])
def test_a_name_that_cannot_be_shown_is_refused_beside_its_field(browser, machine):
    answer = browser.post(URL, ASKED | {"machine": machine, "decision": "allow"})

    assert answer.status_code == 422
    assert "machine" in answer.context["form"].errors
    assert "form-action 'self' http://localhost:10006;" in answer["Content-Security-Policy"]


def test_a_second_browser_cannot_finish_the_form_of_the_first(alice, bob):
    first, second = Client(enforce_csrf_checks=True), Client(enforce_csrf_checks=True)
    sign_in(first, alice)
    sign_in(second, bob)
    second.get(URL, ASKED)
    token = str(first.get(URL, ASKED).context["csrf_token"])
    form = ASKED | {"machine": "desk", "decision": "allow", "csrfmiddlewaretoken": token}
    headers = {"Origin": "https://testserver"}

    assert second.post(URL, form, headers=headers, secure=True).status_code == 403
    assert not LoginCode.objects.exists()
    assert first.post(URL, form, headers=headers, secure=True).status_code == 303
