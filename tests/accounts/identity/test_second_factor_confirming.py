"""D25: which ways of confirming count for changes to the second factor, and for whom."""

import re
import time
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.utils import timezone

from tests.accounts.identity.openid.conftest import acme_id, begin, browser, key, sign_on
from tests.accounts.identity.test_passkeys import register, show
from tests.accounts.identity.test_second_factor import PAGE, code_of, fresh_cache, password, set_up, signed_in
from tests.accounts.identity.test_second_factor_attacks import CONFIRM, defended, leads_to, remove_app, remove_passkey
from tests.builders.passkeys import Passkey
from tests.pages import text_of
from tests.rows import for_each_row
from tests.sessions import confirm, next_of, sign_in

__all__ = ["acme_id", "browser", "defended", "fresh_cache", "key", "sign_on"]


def test_an_older_session_is_asked_and_goes_on(bob, defended, browser_of):
    """Nobody is locked out: the form waits for the factor."""
    _, secret, _, passkey = defended
    client = browser_of(bob)
    asked = client.post(f"{PAGE}/codes/renew")
    page = text_of(client.get(asked.url))
    assert "Confirm with a passkey or a code: your password is not enough here." in page
    assert ("Confirm with a passkey</button>" in page, 'name="code"' in page) == (True, True)
    done = client.post(asked.url, {"code": code_of(secret)})
    assert "Create new recovery codes?" in client.get(done.url).text
    shown = client.post(f"{PAGE}/codes/renew", follow=True).text
    assert len(re.findall(r"<li><code[^>]*>(\d+)</code>", shown)) == 10

    by_passkey = browser_of(bob)
    asked = by_passkey.get(PAGE)
    assert show(by_passkey, passkey, asked.url).url == PAGE
    assert by_passkey.post(f"{PAGE}/off").status_code == 303


def test_a_wrong_code_asks_again_for_a_factor_and_for_nothing_else(bob, defended, browser_of):
    client = browser_of(bob)
    asked = client.get(PAGE)
    again = client.post(asked.url, {"code": "000000"})
    assert (again.status_code, 'type="password"' in again.text) == (200, False)
    assert 'action="/account/reauthenticate/?next=%2Faccount%2Fsecond-factor&amp;by=factor"' in again.text


def test_a_factor_counts_for_ten_minutes(bob, defended, time_machine):
    client = defended[0]
    time_machine.move_to(timezone.now() + timedelta(minutes=9, seconds=50))
    assert client.get(PAGE).status_code == 200
    time_machine.move_to(timezone.now() + timedelta(minutes=10, seconds=1))
    assert client.get(PAGE).url.startswith(CONFIRM)
    assert confirm(client, bob, "/tokens").url == "/tokens"
    assert client.get(PAGE).url.startswith(CONFIRM), "a password renews no proof of a factor"


def test_a_password_is_still_enough_for_the_rest(bob, defended, browser_of):
    client = browser_of(bob, confirmed=False)
    asked = client.post("/tokens", {"label": "CI", "scope": "read", "days": "30"})
    assert 'type="password"' in client.get(asked.url).text
    assert confirm(client, bob, next_of(asked)).status_code == 302
    assert client.get(next_of(asked)).status_code == 200


def test_a_factor_that_was_removed_meanwhile_does_not_count(bob, defended, browser_of):
    """The finder of a passkey has signed in with it; bob removes it."""
    client, _, _, passkey = defended
    finder = browser_of(bob, confirmed=False)
    assert show(finder, passkey, f"{CONFIRM}?next={PAGE}&by=factor").url == PAGE
    assert finder.get(PAGE).status_code == 200
    assert remove_passkey(client, bob).status_code == 303
    assert finder.get(PAGE).url.startswith(CONFIRM)
    assert finder.post(f"{PAGE}/codes/renew").url.startswith(CONFIRM)


def test_recovery_codes_count_as_a_factor_for_who_lost_it(bob, defended, browser_of):
    _, _, codes, _ = defended
    client, answer = password(bob)
    client.post(answer.url, {"code": codes[0]})
    for act in (remove_app, remove_passkey):
        assert act(client, bob).status_code == 303
    assert not Authenticator.objects.exists()
    set_up(client)
    assert password(bob)[1].url == "/account/verify/"


def test_a_passkey_alone_offers_codes_while_there_are_any(bob, browser_of):
    victim, passkey = browser_of(bob), Passkey()
    codes = re.findall(r"<li><code[^>]*>(\d+)</code>", victim.get(register(victim, passkey).url).text)
    for code in codes:
        client = browser_of(bob)
        asked = client.get(PAGE)
        assert "One of your recovery codes." in client.get(asked.url).text
        assert client.post(asked.url, {"code": code}).url == PAGE
    asked = browser_of(bob).get(PAGE)
    client = browser_of(bob)
    page = text_of(client.get(asked.url))
    assert ('name="code"' in page, 'type="password"' in page) == (False, False)
    assert "Confirm with a passkey: your" in page
    assert "Passkeys need JavaScript." in page
    assert show(client, passkey, asked.url).url == PAGE


@pytest.fixture
def ann(acme_id, browser, sign_on, settings):
    """Comes from the provider and has set up an app: a later browser of hers, and the app's secret."""
    settings.IDENTITY_PROVIDERS = (acme_id.provider(second_factors=frozenset({"mfa"})),)
    acme_id.person |= {"auth_time": int(time.time())}
    client, _ = sign_on()
    secret, _ = set_up(client)
    return sign_in(browser(), SocialAccount.objects.get().user, confirmed=False), secret


@for_each_row(("amr", "counts"), [(["pwd", "mfa"], True), (["pwd"], False)])
def test_a_sign_on_counts_only_if_the_provider_asked_for_a_second_factor(ann, acme_id, amr, counts):
    client, _ = ann
    page = client.get(client.get(PAGE).url).text
    assert ("Confirm with" in page, 'name="code"' in page) == (True, True)
    acme_id.person |= {"amr": amr, "auth_time": int(time.time())}
    assert client.get(acme_id.consent(begin(client, process="confirm", next=PAGE))).url == PAGE
    assert (client.get(PAGE).status_code == 200) == counts


def test_a_provider_that_tells_of_no_second_factor_is_not_offered(ann, acme_id, settings):
    client, secret = ann
    settings.IDENTITY_PROVIDERS = (acme_id.provider(),)
    asked = client.get(PAGE)
    page = client.get(asked.url).text
    assert ("/account/sign-on/" in page, 'name="code"' in page) == (False, True)
    assert client.post(asked.url, {"code": code_of(secret)}).url == PAGE


def test_identities_are_connected_and_disconnected_with_a_factor(acme_id, browser, bob, settings):
    """An identity of the attacker's would confirm for bob, if its provider counts as a second factor."""
    settings.IDENTITY_PROVIDERS = (acme_id.provider(second_factors=frozenset({"mfa"})),)
    victim = sign_in(browser(), bob)
    secret, _ = set_up(victim)
    client = sign_in(browser(), bob)
    asked = f"{CONFIRM}?next=%2Faccount%2F&by=factor"
    assert leads_to(client.post("/account/sign-on/corp/", {"process": "connect"})) == asked
    row = SocialAccount.objects.create(user=bob, provider=acme_id.issuer, uid="b-1")
    assert leads_to(client.post(f"/account/identities/{row.pk}/disconnect")) == asked
    assert SocialAccount.objects.filter(pk=row.pk).exists()
    client.post(asked, {"code": code_of(secret)})
    assert client.post(f"/account/identities/{row.pk}/disconnect").status_code == 303


def test_sessions_of_an_older_release_are_asked_and_keep_what_they_may(bob, defended, browser_of, settings):
    """They say that a factor was shown, and not when."""
    _, secret, *_ = defended
    client = browser_of(bob, confirmed=False)
    session = client.session
    session["second-factor-seen"] = True
    session.save()
    settings.SECOND_FACTOR = "everyone"
    assert signed_in(client)
    asked = client.get(PAGE)
    assert asked.url.startswith(CONFIRM)
    assert client.post(asked.url, {"code": code_of(secret)}).url == PAGE
    assert client.get(PAGE).status_code == 200
