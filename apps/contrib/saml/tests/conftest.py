import pytest

from apps.contrib.saml.protocol import clear
from apps.contrib.saml.tests import scripted as saml
from tests.accounts.conftest import event_kinds
from tests.accounts.identity.sign_on import begin, browser

__all__ = ["browser", "event_kinds"]


@pytest.fixture(scope="package")
def key():
    return saml.Key()


@pytest.fixture
def acme_id(db, key, settings, tmp_path):
    """An identity provider that the settings name `corp`."""
    clear()
    source = tmp_path / "corp.xml"
    scripted = saml.Scripted(key, str(source))
    source.write_text(scripted.metadata())
    settings.IDENTITY_PROVIDERS = (scripted.provider(),)
    yield scripted
    clear()


@pytest.fixture
def sign_on(acme_id, browser):
    """A browser in which the provider's person has signed in; answers the browser and the answer of the way back."""

    def signed_on(client=None, **form):
        client = client or browser()
        answer = acme_id.answer(begin(client, **form))
        return client, saml.post(client, acme_id.signed(answer))

    return signed_on
