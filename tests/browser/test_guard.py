"""A breaking change by mistake: its owner asks for a reason, its publisher gives one, by keyboard alone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import findings_in_both_themes
from tests.builders.archives import module_zip

pytestmark = pytest.mark.live

BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n'})
AFTER = module_zip({"main.tf": 'variable "name" {}\n'})
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def pasture(live) -> str:
    """A namespace of its own, because its rule changes."""
    with live.client(live.token()) as client:
        client.put("/api/v1/namespaces/pasture", json={"visibility": "public"}).raise_for_status()
    return "pasture"


def choose(page: Page, namespace: str, *, downwards: int) -> None:
    """From the first rule, `silent`, so many further; Enter sends the form."""
    page.goto(f"/namespaces/{namespace}/rules")
    page.locator("input[name=breaking_changes]").first.check()
    page.locator("input[name=breaking_changes]").first.focus()
    for _ in range(downwards):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"The release rules of {namespace} are saved.")).to_be_visible()


def send(live, address: str, version: str, data: bytes) -> str:
    """Its page."""
    with live.client(live.token()) as client:
        return f"/releases/{client.put(f'/api/v1/modules/{address}/{version}', content=data).json()['id']}"


def shows(page: Page, url: str, state: str) -> None:
    """A page that runs no script is loaded again."""
    for _ in range(100):
        page.goto(url)
        if page.locator(f"[data-state={state}]").count():
            return
        page.wait_for_timeout(200)
    raise AssertionError(page.locator("main").inner_text())


@pytest.mark.parametrize("scripts", [True, False], ids=["with-scripts", "without"])
def test_a_held_release_gets_its_reason_by_keyboard(live, open_browser, pasture, scripts, watch):
    watch.expect("status of 422")
    page = open_browser(java_script_enabled=scripts, viewport={"width": 320, "height": 900}).new_page()
    choose(page, pasture, downwards=2)
    address = f"{pasture}/sheep/{'scripts' if scripts else 'plain'}"
    live.publish(address, "1.0.0", BEFORE, live.token())
    url = send(live, address, "1.1.0", AFTER)
    shows(page, url, "held")

    expect(page.locator("[data-guard]")).to_contain_text("Once it is published, clients that allow 1.0.0")
    expect(page.locator("[data-rule=input_made_required]")).to_contain_text("name")
    reason = page.get_by_label("Reason for this version number")
    reason.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("Give the reason")
    if scripts:
        assert findings_in_both_themes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == 320
    reason.focus()
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"{url}$"))
    shows(page, url, "published")
    expect(page.locator("[data-guard]")).to_contain_text(f"Its publisher says: {HOSTILE}")
    page.goto(f"/modules/{address}/1.1.0")
    expect(page.get_by_text(f"Its publisher says: {HOSTILE}")).to_be_visible()


def test_a_refused_release_leads_to_another_number(live, page, pasture):
    choose(page, pasture, downwards=3)
    address = f"{pasture}/goat/null"
    live.publish(address, "1.0.0", BEFORE, live.token())
    url = send(live, address, "1.1.0", AFTER)
    shows(page, url, "rejected")

    reason = page.locator("[data-reason=breaking_change]")
    expect(reason).to_contain_text("a number for breaking changes, such as 2.0.0")
    expect(page.locator("[data-guard]")).to_contain_text("clients don't see it")
    assert findings_in_both_themes(page) == []
