"""The cookies of a browser: who can read them, where they are sent, and when they change."""

import pytest
from django.contrib.auth.hashers import identify_hasher, make_password
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from registry_site import settings as real
from tests.rows import for_each_row

SESSION, CSRF = "__Host-larder-session", "__Host-larder-csrf"
NEW = "ripe plums in august"


def sign_in(client, who, password=None):
    form = {"login": who, "password": password or f"{who} likes pears"}
    return client.post(reverse("account_login"), form)


def test_the_session_is_for_this_host_alone_and_no_script_reads_it(bob):
    cookie = sign_in(Client(), "bob").cookies[SESSION]

    assert cookie["secure"]
    assert cookie["httponly"]
    assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Lax", "/", "")
    assert 0 < cookie["max-age"] <= 12 * 60 * 60


def test_the_csrf_cookie_is_for_this_host_alone(db):
    cookie = Client().get(reverse("account_login")).cookies[CSRF]

    assert cookie["secure"]
    assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("Lax", "/", "")


def test_the_theme_is_the_one_cookie_besides(bob):
    client = Client()
    sign_in(client, "bob")
    chosen = client.post("/theme", {"theme": "dark", "next": "/"}).cookies["larder-theme"]
    client.post(
        reverse("account_change_password"), {"oldpassword": "bob likes pears", "password1": NEW, "password2": NEW}
    )

    assert chosen["secure"]
    assert chosen["samesite"] == "Lax"
    assert set(client.cookies) <= {SESSION, CSRF, "larder-theme", "messages"}
    assert all(cookie["secure"] for cookie in client.cookies.values() if cookie.value)


def is_signed_in(key):
    client = Client()
    client.cookies[SESSION] = key
    return client.get("/tokens").status_code == 200


def test_a_session_that_was_planted_is_not_the_one_that_signs_in(bob, db):
    client = Client()
    planted = client.session
    planted["x"] = 1
    planted.save()
    client.cookies[SESSION] = planted.session_key or ""
    secret_before = client.get(reverse("account_login")).cookies[CSRF].value

    answer = sign_in(client, "bob")

    assert answer.status_code == 302
    assert client.cookies[SESSION].value != planted.session_key
    assert not is_signed_in(planted.session_key)
    assert client.cookies[CSRF].value != secret_before


def test_a_password_change_ends_copies_of_the_very_session(bob):
    client = Client()
    sign_in(client, "bob")
    copied = client.cookies[SESSION].value
    assert is_signed_in(copied)

    client.post(
        reverse("account_change_password"), {"oldpassword": "bob likes pears", "password1": NEW, "password2": NEW}
    )

    assert client.get("/tokens").status_code == 200
    assert not is_signed_in(copied)


def test_signing_out_ends_the_session_and_not_only_the_cookie(bob):
    client = Client()
    sign_in(client, "bob")
    copied = client.cookies[SESSION].value

    client.post(reverse("account_logout"))

    assert not is_signed_in(copied)


def test_a_link_signs_nobody_out(bob):
    client = Client()
    sign_in(client, "bob")

    client.get(reverse("account_logout"))

    assert client.get("/tokens").status_code == 200


# --- Passwords -------------------------------------------------------------------------------------------------------


@pytest.fixture
def real_hashers(settings):
    settings.PASSWORD_HASHERS = real.PASSWORD_HASHERS


def test_passwords_are_hashed_by_argon2(db, real_hashers):
    user = User.objects.create_user(username="erin", password="erin likes quinces")

    assert user.password.startswith("argon2$argon2id$")
    assert "quinces" not in user.password
    assert user.check_password("erin likes quinces")


def test_an_older_hash_is_renewed_by_signing_in(bob, real_hashers):
    User.objects.filter(pk=bob.pk).update(password=make_password("bob likes pears", hasher="pbkdf2_sha256"))

    assert sign_in(Client(), "bob").status_code == 302

    bob.refresh_from_db()
    assert identify_hasher(bob.password).algorithm == "argon2"


@for_each_row("password", ["grapes plum", "123456789012", "q1w2e3r4t5y6", "bob-the-builder", "bob-the-builde"])
def test_weak_passwords_are_refused(password):
    with pytest.raises(ValidationError):
        validate_password(password, User(username="bob-the-builder"))


def test_twelve_characters_are_enough():
    validate_password("grapes plums", User(username="bob"))


@for_each_row("url", ["/tokens", "/publish", "/account/password/change/"])
def test_a_page_that_needs_a_session_makes_none(client, db, url):
    assert client.get(url).headers["Location"].startswith("/account/login/")
    assert not Session.objects.exists()
