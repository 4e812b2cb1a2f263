"""The life after a sign-on: connecting, confirming, the provider's logout, passwords that are turned off."""

import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from allauth.socialaccount.models import SocialAccount
from django.conf import settings as real
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from apps.accounts.identity.sign_on.providers import TokenRefused
from apps.audit.models import AuditEvent
from apps.contrib.openid.protocol import LOGOUT_EVENT, MAX_LOGOUT_AGE_SECONDS, logout_claims
from apps.contrib.openid.tests import scripted as openid
from tests.accounts.identity.sign_on import begin, by_password
from tests.accounts.identity.test_second_factor import signed_in
from tests.rows import for_each_row

OUT = "/account/sign-on/corp/logout"


# --- Connecting an account that exists -------------------------------------------------------------------------------


def test_an_identity_is_not_connected_to_whoever_has_the_session_by_then(acme_id, browser, bob, dora):
    client, _ = by_password(browser, bob)
    way_back = acme_id.consent(begin(client, process="connect"))
    session = client.session
    session[SESSION_KEY], session[HASH_SESSION_KEY] = str(dora.pk), dora.get_session_auth_hash()
    session.save()

    answer = client.get(way_back)
    assert answer.status_code == 400
    assert b"Another person started" in answer.content
    assert not SocialAccount.objects.exists()


def test_connecting_asks_for_a_password_of_the_last_minutes(acme_id, browser, bob, browser_of):
    client = browser_of(bob, confirmed=False)
    client.defaults["HTTP_HOST"] = real.PUBLIC_HOST
    answer = client.post("/account/sign-on/corp/", {"process": "connect"})
    assert (answer.status_code, answer.url) == (302, "/account/reauthenticate/?next=%2Faccount%2F&by=factor")


def test_an_identity_has_one_account_and_an_account_one_identity_of_an_issuer(sign_on, acme_id, browser, bob):
    ann, _ = sign_on()
    client, _ = by_password(browser, bob)
    _, answer = sign_on(client, process="connect")
    assert answer.status_code == 409  # it is Ann's
    acme_id.person["sub"] = "b-2"
    assert sign_on(client, process="connect")[1].status_code == 302
    acme_id.person["sub"] = "b-3"
    assert sign_on(client, process="connect")[1].status_code == 409
    assert set(SocialAccount.objects.values_list("user__username", "uid")) == {("ann", "a-1"), ("bob", "b-2")}
    assert signed_in(ann)


def test_the_last_way_in_stays(sign_on, acme_id):
    acme_id.person["auth_time"] = int(time.time())
    client, _ = sign_on()
    answer = client.post(f"/account/identities/{SocialAccount.objects.get().pk}/disconnect")
    assert answer.status_code == 409
    assert SocialAccount.objects.exists()


def test_nobody_disconnects_another(sign_on, browser, bob):
    sign_on()
    client, _ = by_password(browser, bob)
    assert client.post(f"/account/identities/{SocialAccount.objects.get().pk}/disconnect").status_code == 404


# --- Confirming who one is -------------------------------------------------------------------------------------------


def test_who_has_no_password_confirms_at_the_provider(sign_on, acme_id):
    client, _ = sign_on()
    disconnect = f"/account/identities/{SocialAccount.objects.get().pk}/disconnect"
    assert client.post(disconnect).status_code == 302  # signed in at the provider, nobody knows when
    page = client.get("/account/reauthenticate/?next=/account/").content.decode()
    assert 'type="password"' not in page
    assert "Confirm with Acme ID" in " ".join(page.split())
    assert "Choose a way to confirm that it is you to continue." in " ".join(page.split())

    url = begin(client, process="confirm", next="/teams")
    assert "prompt=login" in url
    assert "max_age=0" in url
    acme_id.person["auth_time"] = int(time.time())
    assert client.get(acme_id.consent(url)).url == "/teams"
    assert client.post(disconnect).status_code == 409  # asked no more: it is the only way in


@for_each_row(("change", "status"), [({"auth_time": 1_000_000_000}, 403), ({"sub": "b-2"}, 403)])
def test_an_old_sign_in_or_another_person_confirms_nothing(sign_on, acme_id, change, status):
    client, _ = sign_on()
    acme_id.person |= change
    _, answer = sign_on(client, process="confirm")
    assert answer.status_code == status
    disconnect = client.post(f"/account/identities/{SocialAccount.objects.get().pk}/disconnect")
    assert disconnect.url.startswith("/account/reauthenticate/")


# --- The provider's logout -------------------------------------------------------------------------------------------


@pytest.fixture
def logout_token(acme_id):
    cache.clear()

    def token(sign=None, **changes):
        claims = acme_id.claims(jti=uuid.uuid4().hex, events={LOGOUT_EVENT: {}}) | changes
        for name in ("groups", "preferred_username", "exp"):
            claims.pop(name, None)
        return (sign or acme_id.sign)({name: value for name, value in claims.items() if value is not None})

    return token


def test_a_logout_at_the_provider_ends_its_session_here(sign_on, acme_id, browser, logout_token):
    acme_id.person["sid"] = "s1"
    first, _ = sign_on()
    acme_id.person["sid"] = "s2"
    second, _ = sign_on()
    token = logout_token(sid="s1")
    answer = Client().post(OUT, {"logout_token": token})
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert (signed_in(first), signed_in(second)) == (False, True)
    assert Client().post(OUT, {"logout_token": token}).status_code == 400  # once

    assert Client().post(OUT, {"logout_token": logout_token(sid=None)}).status_code == 200
    assert not signed_in(second)
    ended = AuditEvent.objects.filter(kind="account:user:sessions-ended", actor_id=None)
    assert [event.detail["by"] for event in ended] == [acme_id.issuer] * 2


def test_a_logout_that_names_only_the_session_ends_that_one(sign_on, acme_id, browser, logout_token):
    acme_id.person["sid"] = "s1"
    first, _ = sign_on()
    acme_id.person["sid"] = "s2"
    second, _ = sign_on()
    for sid, left in (("", (True, True)), ("other", (True, True)), ("s1", (False, True))):
        answer = Client().post(OUT, {"logout_token": logout_token(sub=None, sid=sid)})
        assert answer.status_code == (200 if sid else 400), sid
        assert (signed_in(first), signed_in(second)) == left, sid
    assert AuditEvent.objects.filter(kind="account:user:sessions-ended", actor_id=None).count() == 1


def test_a_logout_token_counts_once_until_it_is_too_old(sign_on, acme_id, logout_token, time_machine):
    """At its latest moment, and sent by many at once."""
    sign_on()
    begun = timezone.now()
    token = logout_token(sid=None)

    def judged():
        try:
            logout_claims(acme_id.provider(), token)
        except TokenRefused as refused:
            return str(refused)
        return "accepted"

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(lambda _: judged(), range(32))) == {"accepted": 1, "used_before": 31}
    time_machine.move_to(begun + timedelta(seconds=MAX_LOGOUT_AGE_SECONDS - 1), tick=False)
    assert judged() == "used_before"
    time_machine.move_to(begun + timedelta(seconds=MAX_LOGOUT_AGE_SECONDS + 60), tick=False)
    assert judged() == "too_old"


def test_a_session_that_a_password_began_is_not_the_provider_s_to_end(sign_on, browser, bob, logout_token):
    client, _ = by_password(browser, bob)
    sign_on(client, process="connect")
    assert Client().post(OUT, {"logout_token": logout_token()}).status_code == 200
    assert signed_in(client)


@for_each_row(
    "changes",
    [
        {"aud": "somebody-else"},
        {"iss": "https://other.example"},
        {"iat": 1_000_000_000},
        {"events": {}},
        {"events": None},
        {"events": "http://schemas.openid.net/event/backchannel-logout"},
        {"nonce": "n"},
        {"jti": None},
        {"sub": None},
        {"sign": lambda claims: openid.Scripted("", openid.Key()).sign(claims)},
    ],
)
def test_a_logout_token_that_is_not_right_ends_nothing(sign_on, logout_token, changes):
    client, _ = sign_on()
    assert Client().post(OUT, {"logout_token": logout_token(**changes)}).status_code == 400
    assert signed_in(client)


def test_an_id_token_is_no_logout_token(sign_on, acme_id):
    client, _ = sign_on()
    assert Client().post(OUT, {"logout_token": acme_id.sign(acme_id.claims(jti="1"))}).status_code == 400
    assert Client().post(OUT).status_code == 400
    assert signed_in(client)


# --- Passwords turned off --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "bob_may", "olga_may"), [("on", 1, 1), ("staff", 0, 1), ("off", 0, 0)])
def test_passwords_count_for_whom_the_setting_says(acme_id, browser, settings, bob, olga, mode, bob_may, olga_may):
    settings.LOCAL_SIGN_IN = mode
    page = browser().get("/account/login/").content.decode()
    assert ('type="password"' in page) == (mode != "off")
    assert "Sign in with Acme ID" in " ".join(page.split())
    assert by_password(browser, bob)[1] == bool(bob_may)
    assert by_password(browser, olga)[1] == bool(olga_may)


def test_a_password_that_does_not_count_confirms_and_changes_nothing(acme_id, browser, settings, bob):
    client, _ = by_password(browser, bob)
    settings.LOCAL_SIGN_IN = "staff"
    assert client.post("/account/reauthenticate/", {"password": "bob likes pears"}).status_code == 403
    assert client.get("/account/password/change/").status_code == 403
    assert "Change password" not in client.get("/account/").content.decode()
