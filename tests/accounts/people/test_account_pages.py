"""Of allauth's pages only four are served; none of what is left leads to one that is not."""

from urllib.parse import urlsplit

import pytest
import time_machine
from allauth.account import urls as every_page_of_allauth
from allauth.account.adapter import get_adapter
from django.core import mail
from django.core.cache import cache
from django.core.mail.backends.smtp import EmailBackend
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from registry_site import settings as real

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


def test_every_page_of_allauth_is_named_here():
    assert set(PAGES) > SERVED
    assert {"email/", "password/reset/", "signup/", "inactive/", "confirm-email/MQ:1abc/"} <= set(UNSERVED)


@pytest.mark.parametrize("page", UNSERVED)
def test_what_nobody_needs_is_not_there(bob, olga, tolerant, page):
    form = {
        "email": "mallory@example.org",
        "username": "mallory",
        "password1": "ripe plums in august",
        "action_add": "",
    }
    for client in (tolerant(), tolerant(bob), tolerant(olga)):
        assert client.get(f"/account/{page}").status_code == 404
        assert client.post(f"/account/{page}", form).status_code == 404

    assert User.objects.count() == 2
    assert not bob.emailaddress_set.exists()
    assert mail.outbox == []


def test_nobody_signs_up_even_where_a_page_for_it_is_routed_one_day(rf):
    assert get_adapter().is_open_for_signup(rf.get("/")) is False


def test_a_mail_server_that_hangs_is_given_up_soon():
    assert 0 < (EmailBackend().timeout or 0) <= 10


@pytest.mark.parametrize("name", ["account_change_password", "account_reauthenticate"])
def test_who_has_no_password_reads_that_there_is_none_to_change_or_ask_for(without_password, name):
    for answer in (without_password.get(reverse(name)), without_password.post(reverse(name), {"password": "x"})):
        assert answer.status_code == 403
        assert '<main id="main"' in answer.text


@pytest.mark.parametrize("password", ["", "x", "bob likes pears"])
def test_who_has_no_password_signs_in_by_none(without_password, tolerant, password):
    answer = tolerant().post(reverse("account_login"), {"login": "bob", "password": password})
    assert answer.status_code == 200
    assert "_auth_user_id" not in tolerant().session


@pytest.mark.parametrize(
    "name", ["account_login", "account_logout", "account_change_password", "account_reauthenticate"]
)
def test_each_page_answers_everybody_without_a_500(bob, charlie, tolerant, name):
    """As nobody, as Bob, and as Charlie whose account was switched off while he was signed in."""
    clients = [tolerant(), tolerant(bob), tolerant(charlie)]
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    for client in clients:
        for query in ("", "?next=/tokens", "?next=https://evil.example/", "?next=%00"):
            for method in ("OPTIONS", "HEAD", "GET", "PUT", "DELETE", "POST"):
                answer = client.generic(method, reverse(name) + query)
                assert answer.status_code < 500, (method, query)
                assert urlsplit(answer.headers.get("Location", "")).netloc == ""


def test_what_a_page_asks_again_is_done_after_the_password(bob, tolerant):
    client = tolerant(bob)
    where = f"{reverse('account_reauthenticate')}?next=/tokens"
    assert client.post(where, {"password": "wrong"}).status_code == 200
    assert client.post(where, {"password": "bob likes pears"}).headers["Location"] == "/tokens"


# --- The limits, which the settings of the test run switch off --------------------------------------------------------

LOCKED = "Too many failed login attempts"


@pytest.fixture
def limits(settings):
    """As in real life. The clock stands still, so that no limit ends before it is reached."""
    settings.ACCOUNT_RATE_LIMITS = real.ACCOUNT_RATE_LIMITS
    cache.clear()
    with time_machine.travel(timezone.now(), tick=False) as clock:
        yield clock
    cache.clear()


def sign_in(who, password=None, *, address="192.0.2.1"):
    form = {"login": who, "password": password or f"{who} likes pears"}
    return Client(REMOTE_ADDR=address).post(reverse("account_login"), form)


def answered_before(is_refused, send):
    """How many attempts are answered before one is refused."""
    return next((count for count in range(40) if is_refused(send())), None)


def is_429(answer):
    return answer.status_code == 429 and '<main id="main"' in answer.text and "Too many attempts" in answer.text


def test_an_address_may_sign_in_thirty_times_a_minute(bob, limits):
    assert answered_before(is_429, lambda: sign_in("bob")) == 30
    assert sign_in("bob", address="192.0.2.2").status_code == 302
    limits.shift(61)
    assert sign_in("bob").status_code == 302


def test_an_account_is_guessed_at_five_times_in_five_minutes_from_anywhere(bob, charlie, limits):
    addresses = (f"192.0.2.{number}" for number in range(1, 200))
    assert (
        answered_before(lambda answer: LOCKED in answer.text, lambda: sign_in("bob", "x", address=next(addresses))) == 5
    )
    assert LOCKED in sign_in("bob", address=next(addresses)).text, "the right password is not told from a wrong one"
    assert sign_in("charlie", address="192.0.2.1").status_code == 302
    limits.shift(299)
    assert LOCKED in sign_in("bob", address=next(addresses)).text
    limits.shift(2)
    assert sign_in("bob", address=next(addresses)).status_code == 302


def test_an_address_guesses_ten_times_a_minute_whatever_the_names(bob, limits):
    names = (f"nobody{number}" for number in range(100))
    assert answered_before(lambda answer: LOCKED in answer.text, lambda: sign_in(next(names), "x")) == 10
    assert LOCKED in sign_in("bob").text
    assert sign_in("bob", address="192.0.2.2").status_code == 302
    limits.shift(61)
    assert sign_in("bob").status_code == 302


@pytest.mark.parametrize(("name", "least"), [("account_change_password", 5), ("account_reauthenticate", 10)])
def test_a_stolen_session_guesses_at_the_password_only_so_often(bob, charlie, tolerant, limits, name, least):
    wrong = {
        "oldpassword": "x",
        "password1": "ripe plums in august",
        "password2": "ripe plums in august",
        "password": "x",
    }
    client = tolerant(bob)
    assert answered_before(is_429, lambda: client.post(reverse(name), wrong)) == least
    assert is_429(tolerant(bob).post(reverse(name), wrong)), "another session of the same account"
    assert tolerant(charlie).post(reverse(name), wrong).status_code == 200
