"""Signing in and out through allauth, for the pages and for the admin; nobody makes an account by themselves."""

import re

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from apps.accounts.identity import sign_ins
from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.lib.settings_values.rates import Rate

PAGE = "/tokens"


def sign_in(client: Client, username: str, password: str | None = None, url: str | None = None):
    url = url or reverse("account_login")
    return client.post(url, {"login": username, "password": password or f"{username} likes pears"})


def change_password(client: Client, user: str = "bob"):
    new = "ripe plums in august"
    form = {"oldpassword": f"{user} likes pears", "password1": new, "password2": new}
    return client.post(reverse("account_change_password"), form)


def cookie_of(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def client_with(cookie: str | None) -> Client:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = cookie or ""
    return client


def test_bob_signs_in_and_out(bob, event_kinds):
    """The session ends, and not only the cookie."""
    client = Client()

    assert sign_in(client, "bob").status_code == 302
    copy = client_with(cookie_of(client))
    assert [one.get(PAGE).status_code for one in (client, copy)] == [200, 200]
    assert client.post(reverse("account_logout")).status_code == 302
    assert [one.get(PAGE).status_code for one in (client, copy)] == [302, 302]
    assert event_kinds() == ["account:user:signed-in"]
    assert AuditEvent.objects.get().address == "127.0.0.1"


@pytest.mark.both
def test_the_name_counts_in_any_case(bob):
    assert sign_in(Client(), "BOB", "bob likes pears").status_code == 302


def test_it_does_not_tell_whether_a_name_exists(bob, charlie, event_kinds):
    """A wrong password, an unknown name, an account that is switched off (with its right password): one answer.

    No audit row keeps the password, or the name: it may be a password that was typed into the wrong field.
    """
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    pages = set()
    for name, password in (("bob", "hunter2"), ("hunter3", "hunter4"), ("charlie", "charlie likes pears")):
        response = sign_in(Client(), name, password)
        assert response.status_code == 200
        page = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())
        pages.add(re.sub(rf"\b{name}\b", "…", page))

    assert len(pages) == 1
    assert event_kinds() == ["account:user:sign-in-failed"] * 3
    assert list(AuditEvent.objects.order_by("pk").values_list("subject", flat=True)) == [
        f"user/{bob.pk}",
        "user/unknown",
        f"user/{charlie.pk}",
    ]
    assert "hunter" not in str(AuditEvent.objects.values())


def test_it_slows_down_who_guesses(bob, settings):
    settings.RATES = settings.RATES | {"sign_in": Rate(3, 3600)}
    cache.clear()
    client = Client()
    for _ in range(3):
        sign_in(client, "bob", "wrong")
    events = AuditEvent.objects.count()

    response = sign_in(client, "bob")

    assert response.status_code == 429
    assert response.headers["Cache-Control"] == "no-store"
    assert AuditEvent.objects.count() == events, "what was not tried is not recorded"


@pytest.mark.both
def test_a_stranger_at_the_same_address_locks_out_nobody_who_has_signed_in_from_there(bob, charlie, settings):
    """Guesses at one name stop that name there, and guesses at many names whoever is new at the address."""
    settings.RATES = settings.RATES | {"sign_in": Rate(2, 1000 * 3600)}
    cache.clear()
    assert sign_in(Client(), "bob").status_code == 302
    for number in range(2 * sign_ins.TIMES_BY_ADDRESS):
        assert sign_in(Client(), f"nobody-{number}", "wrong").status_code == 200

    assert sign_in(Client(), "nobody", "wrong").status_code == 429
    assert sign_in(Client(), "charlie").status_code == 429
    assert sign_in(Client(), "bob").status_code == 302
    assert [sign_in(Client(), "bob", "wrong").status_code for _ in range(3)] == [200, 200, 429]


def test_bob_changes_his_password_and_other_sessions_end(bob, event_kinds):
    """So do copies of the very session."""
    here, elsewhere = Client(), Client()
    sign_in(here, "bob")
    sign_in(elsewhere, "bob")
    copy = client_with(cookie_of(here))
    assert copy.get(PAGE).status_code == 200

    assert change_password(here).status_code == 302

    assert [one.get(PAGE).status_code for one in (here, elsewhere, copy)] == [200, 302, 302]
    assert event_kinds()[-1] == "account:user:password-changed"


def test_a_weak_new_password_is_refused(bob, browser_of):
    weak = {"oldpassword": "bob likes pears", "password1": "short", "password2": "short"}
    browser_of(bob).post(reverse("account_change_password"), weak)

    bob.refresh_from_db()
    assert bob.check_password("bob likes pears")


def test_the_admin_signs_in_through_the_same_page(olga):
    client = Client()
    response = client.get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith(reverse("account_login"))
    response = sign_in(client, "olga", url=response.redirect_chain[-1][0])
    assert response.headers["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200
