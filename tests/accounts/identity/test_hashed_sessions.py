"""A browser's session is stored under a digest: the table, or a backup of it, signs nobody in."""

import hashlib
import json

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.identity import sessions
from tests.accounts.identity.test_sign_in import sign_in
from tests.rows import for_each_row

pytestmark = [pytest.mark.django_db, pytest.mark.both]
PAGE = "/tokens"


def cookie_of(client: Client) -> str:
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def client_with(cookie: str) -> Client:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = cookie
    return client


def test_no_row_holds_what_a_browser_sends(bob):
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


def test_the_stored_key_is_no_cookie(bob):
    client = Client()
    sign_in(client, "bob")

    assert client_with(cookie_of(client)).get(PAGE).status_code == 200
    assert client_with(Session.objects.get().pk).get(PAGE).status_code == 302


def test_a_row_of_the_engine_before_signs_nobody_in(bob):
    client = Client()
    sign_in(client, "bob")
    row = Session.objects.get()
    Session.objects.create(pk="k" * 32, session_data=row.session_data, expire_date=row.expire_date)

    assert client_with("k" * 32).get(PAGE).status_code == 302


def test_sign_in_rotates_and_sign_out_deletes(bob):
    client = Client()
    client.get(reverse("account_login"))
    sign_in(client, "bob")
    first = cookie_of(client)
    sign_in(client, "bob")
    client.post(reverse("account_logout"))
    sign_in(client, "bob")

    assert cookie_of(client) != first
    assert client_with(first).get(PAGE).status_code == 302
    assert Session.objects.count() == 1


def test_all_sessions_of_one_person_end(bob, charlie, browser_of):
    browsers = [browser_of(bob), browser_of(bob), browser_of(charlie)]

    assert sessions.end_all(bob) == 2
    assert [browser.get(PAGE).status_code for browser in browsers] == [302, 302, 200]


def test_expired_sessions_are_refused_and_cleared(bob, browser_of):
    browser = browser_of(bob)
    Session.objects.update(expire_date=timezone.now())

    assert browser.get(PAGE).status_code == 302
    call_command("clearsessions")
    assert not Session.objects.exists()


@for_each_row("cookie", ["", "x", "a\\000b", "é" * 50, "z" * 5000])
def test_odd_cookies_are_nobody(db, cookie):
    assert client_with(cookie).get(PAGE).status_code == 302
