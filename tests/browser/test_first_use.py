"""The live row after a first token and a first namespace turns green by itself."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import look
from tests.builders.archives import module_zip
from tests.live import Live

pytestmark = pytest.mark.live


def test_a_new_namespace_and_a_new_token_turn_green_with_their_first_use(page: Page, live: Live) -> None:
    page.goto("/namespaces/new")
    page.get_by_label("Name", exact=True).fill("firsts")
    page.get_by_role("button", name="Create").click()
    row = page.locator("#first-use")
    expect(row).to_contain_text("Waiting for the first publication")
    look(page, "empty namespace")

    live.publish("firsts/apple/null", "1.0.0", module_zip(), live.token())
    expect(row).to_contain_text("firsts/apple/null 1.0.0 is published")
    look(page, "namespace with its first version")

    page.goto("/tokens")
    page.get_by_label("Label").fill("first")
    page.get_by_role("button", name="Create").click()
    expect(row).to_contain_text("Waiting for the first client")
    token = page.get_by_label("Token", exact=True).inner_text().strip()
    with live.client(token) as client:
        assert client.get("/api/v1/me").status_code == 200
    expect(row).to_contain_text("used it")
    look(page, "new token")
