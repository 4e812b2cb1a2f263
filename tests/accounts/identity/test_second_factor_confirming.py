"""D25: which ways of confirming count for changes to the second factor, and for whom."""

import re
from datetime import timedelta

from allauth.mfa.models import Authenticator
from django.utils import timezone

from tests.accounts.identity.test_passkeys import register, show
from tests.accounts.identity.test_second_factor import PAGE, code_of, fresh_cache, password, set_up, signed_in
from tests.accounts.identity.test_second_factor_attacks import CONFIRM, defended, remove_app, remove_passkey
from tests.builders.passkeys import Passkey
from tests.pages import text_of
from tests.sessions import confirm, next_of

__all__ = ["defended", "fresh_cache"]


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
