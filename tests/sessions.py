"""Browser sessions without a browser, and the page that asks for a recent proof."""

import time
from urllib.parse import parse_qs, urlsplit

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.test import Client
from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sessions
from apps.accounts.identity.hashed_sessions import SessionStore, digest_of
from apps.accounts.models import User


def sign_in(client: Client, user: User, *, confirmed: bool = True) -> Client:
    """Without the page; `confirmed`: as if the person had given the password a moment ago."""
    client.force_login(user)
    if confirmed:
        session = client.session
        session[sessions.CONFIRMED] = time.time()
        session.save()
    return client


def in_browser(user: User) -> Viewer:
    """The person in a browser that has been signed in for some time: nothing is recorded of it now."""
    store = SessionStore()
    store.update({SESSION_KEY: str(user.pk), HASH_SESSION_KEY: user.get_session_auth_hash()})
    store.create()
    return Viewer(user, session=digest_of(store.session_key or ""))


def confirm(client, user, path="/"):
    """Type the password, as the page before asks for it."""
    form = {"password": f"{user.username} likes pears", "next": path}
    return client.post(reverse("account_reauthenticate"), form)


def next_of(answer):
    return parse_qs(urlsplit(answer.headers["Location"]).query)["next"][0]


def resumed(client, user, asked):
    """The page to which the password leads."""
    return client.get(confirm(client, user, next_of(asked)).headers["Location"])


def fields_of(page):
    return dict(page.context["waiting"]["fields"])
