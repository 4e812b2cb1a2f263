"""/namespaces/<ns>/keys/add, with a key that is there and was extended since."""

from apps.signing.models import SigningKey
from tests.builders.keys import extended, signing_key
from tests.portal.namespaces.test_keys import ADD, KEYS, browser, text_of

__all__ = ["browser"]


def test_a_key_that_its_owner_has_extended_is_renewed(browser):
    key = signing_key("expiring")
    browser.post(ADD, {"armor": key.armor, "source": "Cooks", "step": "save"})
    assert 'data-expiry="warn"' in browser.get(KEYS).text
    saved = browser.post(ADD, {"armor": extended(key).armor, "step": "save"}, follow=True)

    assert "is updated to the newer version" in text_of(saved)
    assert "data-expiry" not in browser.get(KEYS).text
    assert SigningKey.objects.get().source == "Cooks"
