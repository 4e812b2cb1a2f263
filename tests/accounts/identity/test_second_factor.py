"""Codes of an app and recovery codes: set up, asked for at sign-in, used once, turned off."""

import re
import time
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import hotp_value
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.lib.settings_values.rates import Rate

PAGE = "/account/second-factor"


@pytest.fixture(autouse=True)
def fresh_cache():
    cache.clear()


def code_of(secret, periods=0):
    return f"{hotp_value(secret, int(time.time()) // 30 + periods):06}"


def password(user, client=None):
    client = client or Client()
    form = {"login": user.username, "password": f"{user.username} likes pears"}
    return client, client.post("/account/login/?next=/tokens", form)


def secret_on(page):
    found = re.search(r'<code class="mono">([A-Z2-7 ]+)</code>', page)
    assert found
    return found[1].replace(" ", "")


def set_up(client):
    """Answers the secret and the recovery codes.

    Its code is the one before, so that the current one is still unused. That one counts only until the current period
    of 30 s ends, so it is not made in the last two seconds.
    """
    left = 30 - time.time() % 30
    if left < 2:
        time.sleep(left)
    secret = secret_on(client.get(PAGE).text)
    shown = client.post(PAGE, {"digits": code_of(secret, -1)})
    assert (shown.status_code, shown.url) == (303, f"{PAGE}/codes")
    page = client.get(shown.url).content.decode()
    return secret, re.findall(r"<li><code[^>]*>(\d+)</code>", page)


@pytest.fixture
def with_factor(bob):
    """Bob's browser, his secret and his recovery codes."""
    client, _ = password(bob)
    return client, *set_up(client)


def signed_in(client):
    return client.get("/account/").status_code == 200


def test_bob_turns_it_on_and_signing_in_asks_for_a_code(bob, with_factor, event_kinds):
    _, secret, codes = with_factor
    assert len(set(codes)) == 10
    client, answer = password(bob)
    assert answer.url == "/account/verify/"
    assert not signed_in(client)
    assert client.post(answer.url, {"code": "000000"}).status_code == 200
    assert not signed_in(client)
    done = client.post(answer.url, {"code": code_of(secret)})
    assert (done.status_code, done.url) == (302, "/tokens")
    assert signed_in(client)
    assert event_kinds() == [
        "account:user:signed-in",
        "account:second-factor:added",
        "account:user:sign-in-failed",
        "account:user:signed-in",
    ]


def test_a_code_counts_once_even_while_the_app_shows_it(bob, with_factor, time_machine):
    _, secret, _ = with_factor
    code = code_of(secret)
    client, answer = password(bob)
    client.post(answer.url, {"code": code})
    assert signed_in(client)
    time_machine.move_to(timezone.now() + timedelta(seconds=31))  # allauth would take it again now
    other, answer = password(bob)
    assert other.post(answer.url, {"code": code}).status_code == 200
    assert not signed_in(other)


def test_recovery_codes_are_shown_once_count_once_and_end_with_the_next_ones(bob, with_factor):
    client, _, codes = with_factor
    assert codes[0] not in client.get(f"{PAGE}/codes").text

    def sign_in_with(code):
        other, answer = password(bob)
        other.post(answer.url, {"code": code})
        return signed_in(other)

    assert [sign_in_with(code) for code in (codes[3], codes[3], codes[4])] == [True, False, True]
    assert "8 of 10 unused" in client.get(PAGE).text
    page = client.post(f"{PAGE}/codes/renew", follow=True).text
    renewed = re.findall(r"<li><code[^>]*>(\d+)</code>", page)
    assert len(renewed) == 10
    assert [sign_in_with(code) for code in (codes[0], renewed[0])] == [False, True]


def test_who_guesses_is_stopped(bob, with_factor, settings):
    settings.RATES = settings.RATES | {"second_factor": Rate(5, 3600)}
    cache.clear()
    other, secret, _ = with_factor
    client, answer = password(bob)
    for _ in range(5):
        client.post(answer.url, {"code": "000000"})
    refused = client.post(answer.url, {"code": code_of(secret)}, REMOTE_ADDR="192.0.2.9")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    assert not signed_in(client)
    page = "/account/reauthenticate/"
    assert other.post(page, {"code": code_of(secret)}).status_code == 429, "the other page that asks for one"


def test_right_codes_are_never_counted(bob, with_factor, settings):
    settings.RATES = settings.RATES | {"second_factor": Rate(1, 3600)}
    cache.clear()
    _, _, codes = with_factor
    for code in codes[:3]:
        client, answer = password(bob)
        client.post(answer.url, {"code": code})
        assert signed_in(client)


def test_the_session_has_a_new_id_after_the_code(bob, with_factor):
    """An attacker who has fixed or read the cookie before has nothing of what comes after."""
    client = Client()
    client.get("/account/login/")
    client, answer = password(bob, client)
    before = client.cookies["__Host-larder-session"].value
    other = Client()
    other.cookies["__Host-larder-session"] = before
    client.post(answer.url, {"code": code_of(with_factor[1])})
    assert client.cookies["__Host-larder-session"].value != before
    assert signed_in(client)
    assert not signed_in(other)


def test_the_database_alone_makes_no_code(bob, with_factor):
    _, secret, codes = with_factor
    stored = "".join(str(row.data) for row in Authenticator.objects.all())
    assert secret not in stored
    assert not [code for code in codes if code in stored]


def test_a_wrong_first_code_turns_nothing_on(bob):
    client, _ = password(bob)
    client.get(PAGE)
    assert client.post(PAGE, {"digits": "000000"}).status_code == 422
    assert not Authenticator.objects.exists()


def test_turning_it_off_needs_a_factor_of_the_last_ten_minutes(bob, with_factor, time_machine):
    client, secret, _ = with_factor
    time_machine.move_to(timezone.now() + timedelta(minutes=10, seconds=1))
    asked = client.post(f"{PAGE}/off")
    assert Authenticator.objects.exists()
    page = client.post(asked.url, {"code": code_of(secret)})
    assert "Remove the authenticator app?" in client.get(page.url).text
    assert client.post(f"{PAGE}/off").status_code == 303
    assert not Authenticator.objects.exists()
    assert password(bob)[1].url == "/tokens"


def test_a_new_password_from_the_host_does_not_turn_it_off(bob, with_factor, capsys):
    call_command("set_password", "bob")
    new = capsys.readouterr().out.strip()
    client = Client()
    answer = client.post("/account/login/", {"login": "bob", "password": new})
    assert answer.headers["Location"] == "/account/verify/"
    assert not signed_in(client)


def test_an_operator_turns_it_off_for_who_lost_everything(bob, with_factor, event_kinds):
    call_command("remove_second_factor", "bob")
    assert password(bob)[1].url == "/tokens"
    assert "account:second-factor:removed" in event_kinds()
    with pytest.raises(CommandError, match="no second factor"):
        call_command("remove_second_factor", "bob")


def test_a_deactivated_account_is_not_asked(bob, with_factor):
    client, answer = password(bob)
    User.objects.update(is_active=False)
    client.post(answer.url, {"code": code_of(with_factor[1])})
    assert not signed_in(client)
