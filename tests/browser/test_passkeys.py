"""A passkey with Chromium's virtual authenticator: made, asked for at sign-in, alone, to confirm, and removed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import expect_home_of, findings_in_both_themes, follow_the_link, sign_out
from tests.live import Live

pytestmark = pytest.mark.live
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
PASSWORD = "ripe plums in august"


@pytest.fixture
def paula(live: Live, open_browser: Callable[..., BrowserContext]) -> Page:
    """Has just joined. At `localhost`: WebAuthn takes no numbers for a host (D21)."""
    context = open_browser()
    context.clear_cookies()
    page = context.new_page()
    authenticator = context.new_cdp_session(page)
    authenticator.send("WebAuthn.enable")
    authenticator.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    link = live.manage("invite", "--note", "Paula").split()[-1]
    page.goto(at_localhost(live, re.sub(r"^https://[^/]+", "", link)))
    page.get_by_label("User name").fill("paula")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("again").fill(PASSWORD)
    page.locator("main form button[type=submit]").click()
    expect(page.get_by_text("Welcome, paula")).to_be_visible()
    return page


def at_localhost(live: Live, path: str) -> str:
    return live.url.replace("127.0.0.1", "localhost") + path


@pytest.mark.smoke
def test_a_passkey_from_the_first_day_to_the_last(live: Live, paula: Page) -> None:
    page = paula
    page.goto(at_localhost(live, "/account/second-factor"))
    if "reauthenticate" in page.url:
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Confirm", exact=True).click()
    assert findings_in_both_themes(page) == []
    page.get_by_label("Name").fill("this laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.locator("[data-recovery-codes] li")).to_have_count(10)

    sign_out(page, at_localhost(live, ""))
    page.goto(at_localhost(live, "/account/login/?next=/tokens"))
    page.get_by_label("User name").fill("paula")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("heading", name="Confirm your second factor")).to_be_visible()
    assert findings_in_both_themes(page) == []
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(at_localhost(live, "/tokens"))

    sign_out(page, at_localhost(live, ""))
    follow_the_link(page, at_localhost(live, ""))
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect_home_of(page, "paula", at_localhost(live, ""))

    page.goto(at_localhost(live, "/account/reauthenticate/?next=/account/second-factor"))
    assert findings_in_both_themes(page) == []
    page.get_by_role("button", name="Confirm with a passkey").click()
    page.wait_for_url(at_localhost(live, "/account/second-factor"))
    expect(page.locator("[data-passkeys]")).to_contain_text("this laptop")
    assert findings_in_both_themes(page) == []
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("This device already has a passkey for your account.")).to_be_visible()
    page.get_by_role("button", name="Remove this laptop").click()
    expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
