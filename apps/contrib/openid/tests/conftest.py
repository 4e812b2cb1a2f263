import pytest

from apps.contrib.openid.protocol import clear
from apps.contrib.openid.tests import scripted as openid
from tests.accounts.conftest import event_kinds
from tests.accounts.identity.sign_on import begin, browser

__all__ = ["browser", "event_kinds"]


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
def sign_on(acme_id, browser):
    """A browser in which the provider's person has signed in; answers the browser and the answer of the way back."""

    def signed_on(client=None, **form):
        client = client or browser()
        return client, client.get(acme_id.consent(begin(client, **form)))

    return signed_on
