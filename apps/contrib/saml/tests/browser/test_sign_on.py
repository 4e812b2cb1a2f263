"""SAML with Chromium: the provider's page posts the answer from another site, so without the cookies of Larder."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import Watch, expect_home_of, follow_the_link, sign_out
from tests.live import Live

pytestmark = pytest.mark.live


def test_the_answer_from_another_site_signs_in_where_it_was_asked_for(
    chromium: Browser, larder: Live, watch: Watch
) -> None:
    context = chromium.new_context(ignore_https_errors=True, base_url=larder.url)
    page = context.new_page()
    page.on("console", watch.note)
    page.goto("/teams")
    page.get_by_role("button", name="Sign in with Acme ID").click()
    page.get_by_role("button", name="I am Ann").click()
    page.wait_for_url("**/teams")
    page.goto("/account/")
    expect(page.get_by_text("You are signed in as ann")).to_be_visible()
    page.goto("/account/reauthenticate/?next=/account/")
    page.get_by_role("button", name="Confirm with Acme ID").click()
    page.get_by_role("button", name="I am Ann").click()
    page.wait_for_url("**/account/")
    sign_out(page, larder.url)
    follow_the_link(page, larder.url)
    page.get_by_role("button", name="Sign in with Acme ID").click()
    page.get_by_role("button", name="I am Ann").click()
    expect_home_of(page, "ann", larder.url)
    context.close()
