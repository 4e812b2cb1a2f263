"""Passkeys against an authenticator in software: made, listed, removed; at sign-in, without a password, to confirm."""

import dataclasses
import json
import re

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from fido2.utils import websafe_encode

from apps.accounts.identity import passkeys, sign_ins
from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.lib.settings_values.rates import Rate
from tests.accounts.identity.test_second_factor import (
    PAGE,
    code_of,
    fresh_cache,
    password,
    secret_on,
    set_up,
    signed_in,
)
from tests.builders.passkeys import Passkey
from tests.portal.people.test_reauthentication import NEW_TOKEN
from tests.rows import for_each_row
from tests.sessions import next_of

__all__ = ["fresh_cache"]

OPTIONS, KEYS, PASSWORDLESS = "/account/passkeys/request", "/account/passkeys", "/account/login/passkey/"


def register(client, passkey, name="blue key"):
    options = client.get(f"{KEYS}/registration").json()
    return client.post(KEYS, {"name": name, "credential": json.dumps(passkey.created(options))})


def show(client, passkey, page, options=OPTIONS, **more):
    """Press the button of a page that asks for the passkey."""
    answer = passkey.got(client.get(options).json())
    return client.post(page, {"credential": json.dumps(answer), **more})


@pytest.fixture
def passkey():
    return Passkey()


@pytest.fixture
def with_passkey(bob, browser_of, passkey):
    """Bob's browser, after he has added the passkey; and the page of his recovery codes."""
    client = browser_of(bob)
    return client, register(client, passkey)


def test_bob_adds_a_passkey_and_gets_recovery_codes_once(bob, with_passkey, event_kinds):
    client, shown = with_passkey
    assert (shown.status_code, shown.url) == (303, f"{PAGE}/codes")
    codes = re.findall(r"<li><code[^>]*>(\d+)</code>", client.get(shown.url).text)
    assert len(set(codes)) == 10
    page = client.get(PAGE).text
    assert "blue key" in page
    assert "10 of 10 unused" in page
    assert event_kinds()[-1] == "account:second-factor:added"
    assert register(client, Passkey(), "desk").url == PAGE, "no second set of codes"


def test_there_are_so_many_and_no_more_and_a_long_answer_is_none(bob, with_passkey, monkeypatch):
    client, _ = with_passkey
    monkeypatch.setattr(passkeys, "MAX_CHARACTERS", 300)
    register(client, Passkey(), "too long")
    assert passkeys.of(bob).count() == 1
    monkeypatch.undo()

    monkeypatch.setattr(passkeys, "MAX_PASSKEYS", 2)
    for name in ("desk", "phone"):
        register(client, Passkey(), name)
    assert [str(one) for one in passkeys.of(bob)] == ["blue key", "desk"]


def test_signing_in_asks_for_it_after_the_password(bob, with_passkey, passkey):
    client, answer = password(bob)
    assert (answer.url, signed_in(client)) == ("/account/verify/", False)
    assert "Use a passkey" in client.get(answer.url).text
    done = show(client, passkey, answer.url)
    assert (done.status_code, done.url) == (302, "/tokens")
    assert signed_in(client)


def test_a_passkey_signs_in_alone_and_leads_on(bob, with_passkey, passkey):
    client = Client()
    done = show(client, passkey, PASSWORDLESS, PASSWORDLESS, next="/teams")
    assert (done.status_code, done.url) == (302, "/teams")
    assert signed_in(client)
    assert client.post("/tokens", NEW_TOKEN).status_code == 303, "it is a proof of the last minutes"


def test_alone_it_must_have_asked_for_a_pin_whichever_page_the_challenge_is_of(bob, charlie, browser_of):
    """Mallory has charlie's password and bob's security key, without its PIN."""
    found = Passkey(verifies=False)
    register(browser_of(bob), found)
    register(browser_of(charlie), Passkey())
    assert show(Client(), found, PASSWORDLESS, PASSWORDLESS).url == "/account/login/"
    client, _ = password(charlie)
    answer = found.got(client.get(OPTIONS).json())
    session = client.session
    del session["account_login"]  # as when the sign-in has waited too long
    session.save()
    assert client.post(PASSWORDLESS, {"credential": json.dumps(answer)}).url == "/account/login/"
    assert not signed_in(client)


def test_alone_it_signs_in_nobody_whose_passwords_do_not_count(bob, with_passkey, passkey, settings):
    client = Client()
    settings.LOCAL_SIGN_IN = "staff"
    assert show(client, passkey, PASSWORDLESS, PASSWORDLESS).url == "/account/login/"
    settings.LOCAL_SIGN_IN = "on"
    User.objects.update(is_active=False)
    assert show(client, passkey, PASSWORDLESS, PASSWORDLESS).url == "/account/login/"
    assert not signed_in(client)
    settings.LOCAL_SIGN_IN = "off"
    assert client.get(PASSWORDLESS).status_code == 403
    assert "passkey" not in client.get("/account/login/").text.partition("<main")[2].partition("</main>")[0]


def test_it_confirms_who_one_is(bob, with_passkey, passkey, browser_of):
    client = browser_of(bob, confirmed=False)
    where = next_of(client.post("/tokens", NEW_TOKEN))
    page = "/account/reauthenticate/"
    asked = " ".join(client.get(f"{page}?next={where}").text.split())
    assert "Confirm with a passkey" in asked
    assert "Enter your password or choose another way to continue. Your input is kept." in asked
    assert show(client, Passkey(user=passkey.user), page, next=where).status_code == 200
    assert client.get(where).status_code == 302
    assert show(client, passkey, page, next=where).url == where
    assert client.get(where).status_code == 200


def test_an_answer_counts_once(bob, with_passkey, passkey):
    client, answer = password(bob)
    said = json.dumps(passkey.got(client.get(OPTIONS).json()))
    client.post(answer.url, {"credential": said})
    assert signed_in(client)
    other, _ = password(bob)
    other.get(OPTIONS)
    other.post("/account/verify/", {"credential": said})
    assert not signed_in(other)


def test_wrong_passkeys_are_stopped_and_stop_no_right_one(bob, with_passkey, passkey, settings):
    """Nor a code or a password: a stranger's nonsense must not lock a person or an office out."""
    settings.RATES = settings.RATES | {"second_factor": Rate(5, 3600), "sign_in": Rate(1, 3600)}
    client, answer = password(bob)
    for _ in range(5):
        assert show(client, Passkey(), answer.url).status_code == 200
    failed = AuditEvent.objects.count()
    for page in (answer.url, "/account/reauthenticate/"):
        browser = client if page == answer.url else with_passkey[0]
        assert show(browser, Passkey(), page).status_code == 429
        assert not signed_in(client)
    assert AuditEvent.objects.count() == failed, "what is limited is not recorded"
    assert client.post(answer.url, {"code": "000000"}).status_code == 200
    assert show(client, passkey, answer.url).status_code == 302
    assert signed_in(client)
    for _ in range(sign_ins.TIMES_BY_ADDRESS):
        assert show(Client(), Passkey(user=passkey.user), PASSWORDLESS, PASSWORDLESS).status_code == 302
    assert show(Client(), Passkey(user=passkey.user), PASSWORDLESS, PASSWORDLESS).status_code == 429
    assert show(Client(), passkey, PASSWORDLESS, PASSWORDLESS).status_code == 302
    assert password(bob)[1].status_code == 302


WRONG = {
    "another key": lambda key, options: Passkey(number=key.number, user=key.user).got(options),
    "another site": lambda key, options: dataclasses.replace(key, origin="https://evil.example").got(options),
    "another challenge": lambda key, options: key.got(options | {"challenge": "A" * 43}),
    "no signature": lambda key, options: key.got(options, signature=""),
    "no data": lambda key, options: key.got(options, authenticatorData=""),
    "another id": lambda key, options: key.got(options) | {"id": "AAAA"},
    "a person who is none": lambda key, options: key.got(options, userHandle={"a": 1}),
    "a number": lambda *_: 5,
    "a list": lambda *_: [1],
    "no raw id": lambda *_: {"id": "AAAA", "response": {}},
    "texts": lambda *_: {"id": "a", "rawId": "a", "type": "public-key", "response": "x"},
}


@for_each_row("wrong", WRONG)
def test_a_wrong_answer_signs_nobody_in_and_is_recorded(bob, with_passkey, passkey, wrong):
    for page, options in (("/account/verify/", OPTIONS), (PASSWORDLESS, PASSWORDLESS)):
        client, _ = password(bob) if page != PASSWORDLESS else (Client(), None)
        before = AuditEvent.objects.filter(kind="account:user:sign-in-failed").count()
        said = WRONG[wrong](passkey, client.get(options).json())
        answer = client.post(page, {"credential": json.dumps(said)})
        assert answer.status_code in (200, 302)
        assert not signed_in(client)
        failed = AuditEvent.objects.filter(kind="account:user:sign-in-failed").count() - before
        assert failed == (page != PASSWORDLESS)


@for_each_row(
    "wrong", [[], 5, {}, {"id": "a", "rawId": "b", "type": "x", "response": {}}, {"response": {"clientDataJSON": "é"}}]
)
def test_what_is_no_new_passkey_is_refused(bob, browser_of, wrong):
    client = browser_of(bob)
    client.get(f"{KEYS}/registration")
    assert client.post(KEYS, {"name": "x", "credential": json.dumps(wrong)}).status_code == 400
    assert client.post(KEYS, {"name": "x", "credential": "{"}).status_code == 400
    assert client.post(KEYS, {"name": "x"}).status_code == 400
    for passkey in (Passkey(origin="https://evil.example"), Passkey(host="evil.example")):
        assert register(client, passkey).status_code == 400
    assert not Authenticator.objects.exists()


def test_a_session_without_the_factor_that_its_person_has_adds_none(bob, browser_of, settings):
    set_up(browser_of(bob))
    settings.SECOND_FACTOR = "everyone"
    client = browser_of(bob)
    assert "confirm" in client.get(f"{KEYS}/registration").json()
    assert client.post(KEYS, {"name": "x", "credential": "{}"}).url.startswith("/account/reauthenticate/")


def test_with_the_last_one_go_the_recovery_codes_but_who_must_have_one_keeps_it(
    bob, with_passkey, settings, event_kinds
):
    client, _ = with_passkey
    row = Authenticator.objects.get(type=Authenticator.Type.WEBAUTHN)
    settings.SECOND_FACTOR = "everyone"
    assert client.post(f"{KEYS}/{row.pk}/remove").status_code == 409
    assert Authenticator.objects.filter(pk=row.pk).exists()
    settings.SECOND_FACTOR = "off"
    assert client.post(f"{KEYS}/{row.pk}/remove").status_code == 303
    assert not Authenticator.objects.exists()
    assert event_kinds()[-1] == "account:second-factor:removed"
    assert password(bob)[1].url == "/tokens"


def test_beside_an_app_it_may_go_and_the_app_beside_it(bob, with_passkey):
    client, _ = with_passkey
    secret = secret_on(client.get(f"{PAGE}?app").text)
    assert client.post(f"{PAGE}?app", {"digits": code_of(secret, -1)}).url == PAGE
    assert client.post(f"{PAGE}/off", {"code": code_of(secret)}).status_code == 303
    types = set(Authenticator.objects.values_list("type", flat=True))
    assert types == {Authenticator.Type.WEBAUTHN, Authenticator.Type.RECOVERY_CODES}


def test_alone_it_signs_in_the_person_whose_it_is(bob, with_passkey, passkey, charlie):
    for other in (str(charlie.pk), "999999", "x"):
        passkey.user = websafe_encode(other.encode())
        assert show(Client(), passkey, PASSWORDLESS, PASSWORDLESS).url == "/account/login/"


def test_another_neither_removes_it_nor_reads_whether_there_is_one(bob, with_passkey, charlie, browser_of):
    row, other = Authenticator.objects.get(type=Authenticator.Type.WEBAUTHN), browser_of(charlie)
    assert other.post(f"{KEYS}/{row.pk}/remove").status_code == 404
    assert Authenticator.objects.filter(pk=row.pk).exists()
    assert [client.get(OPTIONS).status_code for client in (Client(), other)] == [404, 404]
    assert Client().get(PASSWORDLESS).json()["allowCredentials"] == []
