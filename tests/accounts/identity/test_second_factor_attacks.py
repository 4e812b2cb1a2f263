"""D25: who has a second factor changes it only with one, shown in this browser in the last ten minutes."""

import json
import re
import time

import pytest
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.sessions.models import Session

from apps.audit.models import AuditEvent
from apps.portal.frame import reauthentication
from tests.accounts.identity.test_passkeys import KEYS, register
from tests.accounts.identity.test_second_factor import (
    PAGE,
    code_of,
    fresh_cache,
    secret_on,
    set_up,
    signed_in,
)
from tests.builders.passkeys import Passkey
from tests.rows import for_each_row
from tests.sessions import confirm
from tests.threads import at_once

__all__ = ["fresh_cache"]

CONFIRM = "/account/reauthenticate/"


def renew(client, _):
    return client.post(f"{PAGE}/codes/renew")


def view(client, _):
    client.post(f"{PAGE}/codes/renew")
    return client.get(f"{PAGE}/codes")


def remove_app(client, _):
    """With a recovery code that it has just made."""
    made = re.findall(r"<li><code[^>]*>(\d+)</code>", client.post(f"{PAGE}/codes/renew", follow=True).text)
    return client.post(f"{PAGE}/off", {"code": made[0] if made else "000000"})


def remove_passkey(client, user):
    return client.post(f"{KEYS}/{Authenticator.objects.get(user=user, type=Authenticator.Type.WEBAUTHN).pk}/remove")


def see(client, _):
    return client.get(PAGE)


def begin_app(client, _):
    return client.get(f"{PAGE}?app")


def add_app(client, _):
    return client.post(f"{PAGE}?app", {"digits": "000000"})


def ask_for_passkey(client, _):
    return client.get(f"{KEYS}/registration")


def add_passkey(client, _):
    return client.post(KEYS, {"name": "x", "credential": '{"id": "x"}'})


ATTACKS = [renew, view, remove_app, remove_passkey, see, begin_app, add_app, ask_for_passkey, add_passkey]


@pytest.fixture
def defended(bob, browser_of):
    """Bob's browser, the secret of his app, his recovery codes and his passkey."""
    client, passkey = browser_of(bob), Passkey()
    secret, codes = set_up(client)
    register(client, passkey)
    return client, secret, codes, passkey


def stored():
    return list(Authenticator.objects.order_by("pk").values_list("pk", "type", "data"))


def leads_to(answer):
    return answer.json()["confirm"] if answer.status_code == 403 else answer.headers.get("Location", "")


@pytest.fixture(params=["before", "before, confirmed by password", "password", "sign-on"])
def attacker(request, bob, browser_of):
    """The browser of somebody who has bob's session or his password, and nothing more; bob has an app and a passkey."""

    def browser():
        client = browser_of(bob, confirmed=request.param == "password")
        if request.param == "sign-on":
            session = client.session
            session["sign-on"] = {"issuer": "https://acme.example", "sid": "s1"}
            session["confirmed-at"] = time.time()
            session.save()
        if "confirmed by password" in request.param:
            assert confirm(client, bob, "/tokens").url == "/tokens"
        return client

    early = browser() if request.param.startswith("before") else None
    rows = list(Session.objects.all())
    victim = browser_of(bob)
    set_up(victim)
    register(victim, Passkey())
    # Sessions that were open while the factor was enabled, in a release that did not end them.
    Session.objects.bulk_create(rows, ignore_conflicts=True)
    return early or browser()


@for_each_row("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_browser_without_the_factor_changes_none_of_it(bob, attacker, attack):
    before = stored()
    assert signed_in(attacker)

    answer = attack(attacker, bob)

    assert stored() == before
    assert leads_to(answer).startswith(CONFIRM)
    assert not re.search(r"<li><code[^>]*>\d+</code>", answer.content.decode())
    page = attacker.get(leads_to(answer))
    assert 'type="password"' not in page.text
    assert attacker.post(leads_to(answer), {"password": "bob likes pears"}).status_code == 403
    assert leads_to(attack(attacker, bob)).startswith(CONFIRM)
    assert stored() == before


def test_enabling_the_first_factor_ends_the_other_sessions_and_says_so(bob, browser_of, charlie):
    older, other = browser_of(bob), browser_of(charlie)
    client = browser_of(bob)
    page = client.get(PAGE).text
    assert "signs you out in all other browsers" in page
    shown = client.post(PAGE, {"digits": code_of(secret_on(page))})
    assert "You are signed out in all other browsers." in client.get(shown.url).text
    assert [signed_in(one) for one in (client, older, other)] == [True, False, True]
    assert older.post(f"{PAGE}/codes/renew").url.startswith("/account/login/")
    event = AuditEvent.objects.get(kind="account:user:sessions-ended")
    assert (event.actor_id, event.detail["count"]) == (bob.pk, 1)

    again = browser_of(bob)
    register(client, Passkey())
    assert signed_in(again), "it asks for a factor, which the second one does not change"


def test_a_first_passkey_ends_them_too(bob, browser_of):
    older, client = browser_of(bob), browser_of(bob)
    register(client, Passkey())
    assert "Passkey added. You are signed out in all other browsers." in client.get(PAGE).text
    assert [signed_in(one) for one in (client, older)] == [True, False]


PAST_THE_PAGE = [renew, remove_app, remove_passkey, add_app, add_passkey]


@for_each_row("attack", PAST_THE_PAGE, ids=lambda attack: attack.__name__)
def test_the_verbs_ask_again(bob, defended, browser_of, attack, monkeypatch):
    """Another browser may have added the first factor since the page asked."""
    if attack is add_app:
        Authenticator.objects.filter(type=Authenticator.Type.TOTP).delete()
    client, before = browser_of(bob), stored()
    monkeypatch.setattr(reauthentication, "confirmed_recently", lambda *_, **__: True)
    client.get(f"{PAGE}?app")
    answer = attack(client, bob)
    assert (answer.status_code, stored()) == (409, before)


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_of_two_browsers_that_add_the_first_factor_at_once_one_does(bob, browser_of):
    app, passkey = browser_of(bob), browser_of(bob)
    digits = code_of(secret_on(app.get(PAGE).text))
    options = passkey.get(f"{KEYS}/registration").json()
    form = {"name": "x", "credential": json.dumps(Passkey().created(options))}
    at_once(
        lambda: app.post(PAGE, {"digits": digits}),
        lambda: passkey.post(KEYS, form),
    )
    assert Authenticator.objects.exclude(type=Authenticator.Type.RECOVERY_CODES).count() == 1


def test_the_admin_has_no_page_of_factors():
    assert not admin.site.is_registered(Authenticator)
