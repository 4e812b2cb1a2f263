import html
import re

import pytest
from django.conf import settings as real
from django.test import Client

from apps.accounts.identity.sign_on.openid import clear
from tests.builders import openid


@pytest.fixture(scope="package")
def key():
    return openid.Key()


@pytest.fixture
def acme_id(db, key, settings):
    """An identity provider that the settings name `corp`."""
    clear()
    with openid.running(key) as scripted:
        settings.IDENTITY_PROVIDERS = (scripted.provider(),)
        yield scripted
    clear()


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


@pytest.fixture
def sign_on(acme_id, browser):
    """A browser in which the provider's person has signed in; answers the browser and the answer of the way back."""

    def signed_on(client=None, **form):
        client = client or browser()
        return client, client.get(acme_id.consent(begin(client, **form)))

    return signed_on
