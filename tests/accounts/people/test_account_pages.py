"""Of allauth's pages only six are served; none of them leads to one that is not: sign-up, reset, e-mail."""

import pytest
import time_machine
from allauth import urls as every_route_of_allauth
from allauth.account import urls as every_page_of_allauth
from allauth.account.adapter import get_adapter
from django.core import mail
from django.core.cache import cache
from django.core.mail.backends.smtp import EmailBackend
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from apps.accounts.models import User
from registry_site import settings as real
from tests.rows import for_each_row

ROUTED = {
    "account_change_password",
    "account_login",
    "account_logout",
    "account_reauthenticate",
    "mfa_authenticate",
    "mfa_login_webauthn",
}
SERVED = {"login/", "logout/", "password/change/", "reauthenticate/"}
EXAMPLES = {
    r"^confirm-email/(?P<key>[-:\w]+)/$": "confirm-email/MQ:1abc/",
    r"^password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$": "password/reset/key/1-set-password/",
}
PAGES = [EXAMPLES.get(str(page.pattern), str(page.pattern)) for page in every_page_of_allauth.urlpatterns]
UNSERVED = sorted(set(PAGES) - SERVED)


@pytest.fixture
def tolerant(browser_of):
    """A browser that shows a 500 as its reader would see it."""

    def client_of(user: User | None = None) -> Client:
        client = browser_of(user)
        client.raise_request_exception = False
        return client

    return client_of


@pytest.fixture
def without_password(bob, tolerant):
    """Bob's browser; his account has no password, as one of an identity provider would have none."""
    bob.set_unusable_password()
    bob.save()
    return tolerant(bob)


def names_of(patterns):
    """The names of all routes, those of included lists as well."""
    return {name for page in patterns for name in (names_of(getattr(page, "url_patterns", ())) or {page.name})}


def test_no_other_page_of_allauth_is_routed_by_any_of_its_apps_and_each_is_named_here():
    names = names_of(every_route_of_allauth.urlpatterns)
    assert {"account_signup", "account_reset_password", "account_email", "mfa_index"} <= names
    assert {"socialaccount_signup", "socialaccount_connections"} <= names
    assert names & get_resolver().reverse_dict.keys() == ROUTED
    assert set(PAGES) > SERVED
    assert {"email/", "password/reset/", "signup/", "inactive/", "confirm-email/MQ:1abc/"} <= set(UNSERVED)


@for_each_row("page", UNSERVED)
def test_what_nobody_needs_is_not_there(bob, tolerant, page):
    form = {
        "email": "mallory@example.org",
        "username": "mallory",
        "password1": "ripe plums in august",
        "action_add": "",
    }
    assert tolerant().get(f"/account/{page}").status_code == 404
    for client in (tolerant(), tolerant(bob)):
        assert client.post(f"/account/{page}", form).status_code == 404

    assert User.objects.count() == 1
    assert not bob.emailaddress_set.exists()
    assert mail.outbox == []


def test_nobody_signs_up_even_where_a_page_for_it_is_routed_one_day(rf):
    assert get_adapter().is_open_for_signup(rf.get("/")) is False


def test_a_mail_server_that_hangs_is_given_up_soon():
    assert 0 < (EmailBackend().timeout or 0) <= 10


@for_each_row("name", ["account_change_password", "account_reauthenticate"])
def test_who_has_no_password_reads_that_there_is_none_to_change_or_ask_for(without_password, name):
    for answer in (without_password.get(reverse(name)), without_password.post(reverse(name), {"password": "x"})):
        assert answer.status_code == 403
        assert '<main id="main"' in answer.text


@for_each_row("password", ["", "x", "bob likes pears"])
def test_who_has_no_password_signs_in_by_none(without_password, tolerant, password):
    answer = tolerant().post(reverse("account_login"), {"login": "bob", "password": password})
    assert answer.status_code == 200
    assert "_auth_user_id" not in tolerant().session


# --- The limits, which the settings of the test run switch off --------------------------------------------------------


@pytest.fixture
def limits(settings):
    """The real limits. The clock stands still, so that no limit ends before it is reached."""
    settings.RATES = real.RATES
    cache.clear()
    moment = timezone.now().replace(minute=0, second=0, microsecond=0)
    with time_machine.travel(moment, tick=False) as clock:
        yield clock
    cache.clear()


def sign_in(who, password=None, *, address="192.0.2.1"):
    form = {"login": who, "password": password or f"{who} likes pears"}
    return Client(REMOTE_ADDR=address).post(reverse("account_login"), form)


def answered_before_429(send, most=200):
    """Return how many attempts are answered before one is refused, as a page, with the time to wait."""
    for count in range(most):
        answer = send()
        if answer.status_code == 429:
            assert '<main id="main"' in answer.text
            assert "wrong passwords within 5 minutes." in answer.text
            assert "Try again in" in answer.text
            assert answer.headers["Retry-After"] in "12345"
            return count
    return None


def test_right_passwords_are_never_counted(bob, limits):
    assert answered_before_429(lambda: sign_in("bob"), most=7) is None


@pytest.mark.slow
def test_who_mistypes_their_password_waits_and_nobody_else_at_the_office(bob, charlie, limits):
    assert answered_before_429(lambda: sign_in("bob", "x")) == 5
    assert {sign_in("bob", "x").status_code for _ in range(101)} == {429}, "and goes on typing"
    assert sign_in("bob").status_code == 429, "the right password is not told from a wrong one"
    assert sign_in("BOB ").status_code == 429, "a name is one however it is written"
    assert sign_in("charlie").status_code == 302
    limits.shift(299)
    assert (sign_in("bob").status_code, sign_in("bob").headers["Retry-After"]) == (429, "1")
    limits.shift(1)
    assert sign_in("bob").status_code == 302


def test_an_account_is_guessed_at_twenty_times_in_five_minutes_from_anywhere(bob, charlie, limits):
    assert sign_in("bob", address="198.51.100.9").status_code == 302, "where Bob works"
    addresses = (f"203.0.113.{number}" for number in range(1, 200))
    assert answered_before_429(lambda: sign_in("bob", "x", address=next(addresses))) == 20
    assert sign_in("bob", address=next(addresses)).status_code == 429
    assert sign_in("nobody", "x", address="198.51.100.9").status_code == 200
    assert sign_in("charlie", address=next(addresses)).status_code == 302
    assert sign_in("bob", address="198.51.100.9").status_code == 302, "nobody locks him out there"
    assert answered_before_429(lambda: sign_in("bob", "x", address="198.51.100.9")) == 5


@pytest.mark.slow
def test_an_address_guesses_a_hundred_times_whatever_the_names(bob, limits):
    names = (f"nobody{number}" for number in range(1000))
    assert answered_before_429(lambda: sign_in(next(names), "x")) == 100
    assert sign_in("bob").status_code == 429
    assert sign_in("bob", address="192.0.2.2").status_code == 302
    limits.shift(300)
    assert sign_in("bob").status_code == 302


@pytest.mark.parametrize("name", ["account_change_password", "account_reauthenticate"])
def test_a_stolen_session_guesses_at_the_password_only_so_often(bob, charlie, tolerant, limits, name):
    new = "ripe plums in august"
    wrong = {"oldpassword": "x", "password1": new, "password2": new, "password": "x"}
    client = tolerant(bob)
    assert answered_before_429(lambda: client.post(reverse(name), wrong)) == 5
    assert tolerant(bob).post(reverse(name), wrong).status_code == 429, "another session of the same account"
    assert tolerant(charlie).post(reverse(name), wrong).status_code == 200


def test_a_weak_new_password_is_no_guess(bob, tolerant, limits):
    weak = {"oldpassword": "bob likes pears", "password1": "x", "password2": "x"}
    client = tolerant(bob)
    assert [client.post(reverse("account_change_password"), weak).status_code for _ in range(8)] == [200] * 8
