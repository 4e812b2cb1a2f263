"""The cookies of a browser and the sessions behind them: who reads them, when they change, and what the table is worth.

A session is stored under a digest: the table, or a backup of it, signs nobody in.
"""

import hashlib
import json

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import PBKDF2PasswordHasher, identify_hasher
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from registry_site import settings as real
from tests.accounts.identity.test_sign_in import PAGE, change_password, client_with, cookie_of, sign_in
from tests.rows import for_each_row

SESSION, CSRF = "__Host-larder-session", "__Host-larder-csrf"


def test_both_cookies_are_for_this_host_alone_and_no_script_reads_the_session(bob):
    csrf = Client().get(reverse("account_login")).cookies[CSRF]
    session = sign_in(Client(), "bob").cookies[SESSION]

    for cookie in (csrf, session):
        assert cookie["secure"]
        assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Lax", "/", "")
    assert session["httponly"]
    assert 0 < session["max-age"] <= 12 * 60 * 60


def test_the_theme_is_the_one_cookie_besides(bob):
    client = Client()
    sign_in(client, "bob")
    chosen = client.post("/theme", {"theme": "dark", "next": "/"}).cookies["larder-theme"]
    change_password(client)

    assert chosen["secure"]
    assert chosen["samesite"] == "Lax"
    assert set(client.cookies) <= {SESSION, CSRF, "larder-theme", "messages"}
    assert all(cookie["secure"] for cookie in client.cookies.values() if cookie.value)


def test_a_session_that_was_planted_is_not_the_one_that_signs_in(bob):
    client = Client()
    planted = client.session
    planted["x"] = 1
    planted.save()
    client.cookies[SESSION] = planted.session_key or ""
    secret_before = client.get(reverse("account_login")).cookies[CSRF].value

    answer = sign_in(client, "bob")

    assert answer.status_code == 302
    assert cookie_of(client) != planted.session_key
    assert client_with(planted.session_key).get(PAGE).status_code == 302
    assert client.cookies[CSRF].value != secret_before


def test_a_link_signs_nobody_out(bob, browser_of):
    client = browser_of(bob)

    client.get(reverse("account_logout"))

    assert client.get(PAGE).status_code == 200


@for_each_row("url", [PAGE, "/publish", "/account/password/change/"])
def test_a_page_that_needs_a_session_makes_none(client, db, url):
    assert client.get(url).headers["Location"].startswith("/account/login/")
    assert not Session.objects.exists()


# --- The table -------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_no_row_holds_what_a_browser_sends_and_the_stored_key_is_no_cookie(bob):
    client = Client()
    sign_in(client, "bob")
    assert client.get(PAGE).status_code == 200

    row = Session.objects.get()
    assert row.pk == hashlib.sha256(cookie_of(client).encode()).hexdigest()[:40]
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM django_session")
        dump = json.dumps(cursor.fetchall(), default=str) + json.dumps(row.get_decoded())
    assert cookie_of(client) not in dump
    assert row.get_decoded()[SESSION_KEY] == str(bob.pk), "the model still reads what it stores"
    assert client_with(cookie_of(client)).get(PAGE).status_code == 200
    assert client_with(row.pk).get(PAGE).status_code == 302


def test_a_row_of_the_engine_before_signs_nobody_in(bob, browser_of):
    browser_of(bob)
    row = Session.objects.get()
    Session.objects.create(pk="k" * 32, session_data=row.session_data, expire_date=row.expire_date)

    assert client_with("k" * 32).get(PAGE).status_code == 302


def test_expired_sessions_are_refused_and_cleared(bob, browser_of):
    browser = browser_of(bob)
    Session.objects.update(expire_date=timezone.now())

    assert browser.get(PAGE).status_code == 302
    call_command("clearsessions")
    assert not Session.objects.exists()


@pytest.mark.both
@for_each_row("cookie", ["", "x", "a\\000b", "é" * 50, "z" * 5000])
def test_odd_cookies_are_nobody(db, cookie):
    assert client_with(cookie).get(PAGE).status_code == 302


# --- Passwords -------------------------------------------------------------------------------------------------------


@pytest.fixture
def real_hashers(settings):
    settings.PASSWORD_HASHERS = real.PASSWORD_HASHERS


def test_passwords_are_hashed_by_argon2_and_an_older_hash_is_renewed_by_signing_in(bob, real_hashers):
    user = User.objects.create_user(username="erin", password="erin likes quinces")
    assert user.password.startswith("argon2$argon2id$")
    assert "quinces" not in user.password
    assert user.check_password("erin likes quinces")
    User.objects.filter(pk=bob.pk).update(
        password=PBKDF2PasswordHasher().encode("bob likes pears", "salt", iterations=1)
    )

    assert sign_in(Client(), "bob").status_code == 302

    bob.refresh_from_db()
    assert identify_hasher(bob.password).algorithm == "argon2"


@for_each_row("password", ["grapes plum", "123456789012", "q1w2e3r4t5y6", "bob-the-builder", "bob-the-builde"])
def test_weak_passwords_are_refused_and_twelve_characters_are_enough(password):
    with pytest.raises(ValidationError):
        validate_password(password, User(username="bob-the-builder"))
    validate_password("grapes plums", User(username="bob-the-builder"))
