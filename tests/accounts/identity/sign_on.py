"""Signing in at an identity provider that the settings name `corp`, whatever its protocol."""

import html
import re

import pytest
from django.conf import settings as real
from django.test import Client

from apps.accounts.models import User
from apps.audit.models import AuditEvent
from tests.accounts.identity.test_second_factor import signed_in


@pytest.fixture
def browser():
    return lambda **more: Client(headers={"Host": real.PUBLIC_HOST, "User-Agent": "Firefox/140.0 Linux"}, **more)


def begin(client, query="", **form):
    """Press the button; answers the address of the provider's page."""
    page = client.post(f"/account/sign-on/corp/{query}", form)
    assert page.status_code == 200, page.content.decode()
    found = re.search(r'content="0; url=([^"]+)"', page.content.decode())
    assert found
    return html.unescape(found[1])


def viewer_of(client):
    page = client.get("/account/")
    return page.context["frame"].viewer.user if page.status_code == 200 else None


def by_password(browser, user):
    client = browser()
    form = {"login": user.username, "password": f"{user.username} likes pears"}
    return client, client.post("/account/login/", form).status_code == 302


def failed(answer, client, status):
    """Check what every refusal has in common: no account is signed in or made, and the page names no value of the
    token.
    """
    assert answer.status_code == status, answer.content
    assert not signed_in(client)
    assert not User.objects.exists()
    assert AuditEvent.objects.filter(kind="account:user:sign-in-failed").count() == 1
    assert b"a-1" not in answer.content
    return AuditEvent.objects.get().detail["reason"]
