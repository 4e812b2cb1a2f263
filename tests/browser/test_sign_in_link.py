"""Every way to sign in here, begun at the link in the header: nothing is asked for, so each ends on the home page."""

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.accounts.identity.test_cli_login import ASKED
from tests.accounts.identity.test_second_factor import code_of
from tests.browser.conftest import Watch, browsing
from tests.browser.test_passkeys import AUTHENTICATOR
from tests.live import Live

pytestmark = pytest.mark.live
PASSWORD = "ripe plums in august"


@pytest.fixture
def open_browser(chromium: Browser, live: Live, watch: Watch) -> Iterator[Callable[..., BrowserContext]]:
    with browsing(chromium, live, None, watch) as open_:
        yield open_


@pytest.fixture
def page(open_browser: Callable[..., BrowserContext]) -> Page:
    return open_browser().new_page()


@pytest.fixture
def newcomer(live: Live, open_browser: Callable[..., BrowserContext]) -> Callable[[str], Page]:
    """Somebody who has just joined, in a browser at `localhost` with an authenticator: passkeys take no numbers."""

    def join(name: str) -> Page:
        context = open_browser()
        page = context.new_page()
        authenticator = context.new_cdp_session(page)
        authenticator.send("WebAuthn.enable")
        authenticator.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        link = live.manage("invite", "--note", name).split()[-1]
        page.goto(at_localhost(live) + re.sub(r"^https://[^/]+", "", link))
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("again").fill(PASSWORD)
        page.locator("main form button[type=submit]").click()
        expect(page.get_by_text(f"Welcome, {name}")).to_be_visible()
        page.goto(at_localhost(live) + "/account/second-factor")
        return page

    return join


def at_localhost(live: Live) -> str:
    return live.url.replace("127.0.0.1", "localhost")


def follow_the_link(page: Page, at: str) -> None:
    page.goto(f"{at}/")
    page.get_by_role("link", name="Sign in").first.click()
    page.wait_for_url(f"{at}/account/login/")  # without `next`


def sign_out(page: Page, at: str) -> None:
    page.goto(f"{at}/account/logout/")
    page.locator("main").get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{at}/")


def give_password(page: Page, name: str, password: str) -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def expect_home_of(page: Page, name: str, at: str) -> None:
    page.wait_for_url(f"{at}/")
    page.goto(f"{at}/account/")
    expect(page.get_by_text(f"You are signed in as {name}")).to_be_visible()


def test_a_password(live: Live, page: Page) -> None:
    follow_the_link(page, live.url)
    give_password(page, "admin", live.admin_password)
    expect_home_of(page, "admin", live.url)


def test_a_passkey(live: Live, newcomer: Callable[[str], Page]) -> None:
    page, at = newcomer("paul"), at_localhost(live)
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.locator("[data-recovery-codes] li")).to_have_count(10)
    sign_out(page, at)
    follow_the_link(page, at)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect_home_of(page, "paul", at)


@pytest.mark.parametrize("by", ["app", "recovery code"])
def test_a_code_after_the_password(live: Live, newcomer: Callable[[str], Page], by: str) -> None:
    name = by.replace(" ", "-")
    page, at = newcomer(name), at_localhost(live)
    secret = page.locator("p", has_text="Key:").locator("code").inner_text().replace(" ", "")
    page.get_by_label("Code").fill(code_of(secret, -1))
    page.get_by_role("button", name="Turn on").click()
    recovery = page.locator("[data-recovery-codes] li").first.inner_text()
    sign_out(page, at)
    follow_the_link(page, at)
    give_password(page, name, PASSWORD)
    expect(page.get_by_role("heading", name="Confirm your second factor")).to_be_visible()
    page.get_by_label("Code").fill(code_of(secret) if by == "app" else recovery)
    page.get_by_role("button", name="Sign in with a code").click()
    expect_home_of(page, name, at)


def test_tofu_login_before_and_after(live: Live, page: Page) -> None:
    """Its page leads to the sign-in and back; who has signed in at the link sees it at once."""
    authorize = f"{live.url}/oauth/authorize?{urlencode(ASKED)}"
    page.goto(authorize)
    give_password(page, "admin", live.admin_password)
    page.wait_for_url(authorize)
    expect(page.get_by_role("heading", name="Log in on the command line?")).to_be_visible()
    sign_out(page, live.url)
    follow_the_link(page, live.url)
    give_password(page, "admin", live.admin_password)
    page.wait_for_url(f"{live.url}/")
    page.goto(authorize)
    expect(page.get_by_role("heading", name="Log in on the command line?")).to_be_visible()
