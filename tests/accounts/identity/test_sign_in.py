"""Signing in and out through allauth, for the pages and for the admin; nobody makes an account by themselves."""

import re

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from apps.lib.settings_values.rates import Rate

pytestmark = pytest.mark.both


def sign_in(client: Client, username: str, password: str | None = None, url: str | None = None):
    url = url or reverse("account_login")
    return client.post(url, {"login": username, "password": password or f"{username} likes pears"})


def test_bob_signs_in_and_out(bob, event_kinds):
    client = Client()

    assert sign_in(client, "bob").status_code == 302
    assert client.get("/tokens").status_code == 200
    assert client.post(reverse("account_logout")).status_code == 302
    assert client.get("/tokens").status_code == 302
    assert event_kinds() == ["account:user:signed-in"]
    assert AuditEvent.objects.get().address == "127.0.0.1"


def test_the_name_counts_in_any_case(bob):
    assert sign_in(Client(), "BOB", "bob likes pears").status_code == 302


def test_it_does_not_tell_whether_a_name_exists(bob, charlie, event_kinds):
    """A wrong password, an unknown name, an account that is switched off (with its right password): one answer."""
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    pages = set()
    for name, password in (("bob", "wrong"), ("zoe", "wrong"), ("charlie", "charlie likes pears")):
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


def test_a_failed_sign_in_keeps_neither_password_nor_unknown_name(db):
    sign_in(Client(), "hunter2-typed-into-the-wrong-field", "hunter3")

    event = AuditEvent.objects.get()
    assert "hunter" not in f"{event.subject} {event.detail}"


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


def test_bob_changes_his_password_and_other_sessions_end(bob, event_kinds):
    here, elsewhere = Client(), Client()
    sign_in(here, "bob")
    sign_in(elsewhere, "bob")
    new = "ripe plums in august"

    response = here.post(
        reverse("account_change_password"), {"oldpassword": "bob likes pears", "password1": new, "password2": new}
    )

    assert response.status_code == 302
    assert here.get("/tokens").status_code == 200
    assert elsewhere.get("/tokens").status_code == 302
    assert event_kinds()[-1] == "account:user:password-changed"


def test_a_weak_new_password_is_refused(bob):
    client = Client()
    sign_in(client, "bob")

    client.post(reverse("account_change_password"), {"oldpassword": "bob likes pears", "password1": "short"})

    bob.refresh_from_db()
    assert bob.check_password("bob likes pears")


def test_the_admin_signs_in_through_the_same_page(olga):
    client = Client()
    response = client.get("/admin/", follow=True)

    assert response.redirect_chain[-1][0].startswith(reverse("account_login"))
    response = sign_in(client, "olga", url=response.redirect_chain[-1][0])
    assert response.headers["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_an_account_that_is_switched_off_loses_its_session(bob, browser_of):
    client = browser_of(bob)
    assert client.get("/tokens").status_code == 200
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert client.get("/tokens").status_code == 302
