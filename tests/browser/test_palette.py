"""The command palette with a keyboard, in Debian's Chromium."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import findings_in_both_themes
from tests.builders.archives import module_zip

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def tapir(live, space):
    live.publish(f"{space}/tapir/aws", "1.0.0", module_zip({"main.tf": 'variable "snout_length" {\n}\n'}), live.token())
    return f"{space}/tapir/aws"


def typed(page, words):
    """Types into the palette and waits for the options of just these words."""
    page.locator("#palette-q").press_sequentially(words)
    expect(page.locator("#palette-all")).to_have_attribute("href", re.compile(rf"q={words.replace(' ', '%20')}$"))


def active(page):
    return page.locator('#palette [role="option"][aria-selected="true"]')


def test_it_opens_by_key_finds_and_leads_there(page, tapir):
    page.goto("/providers")
    page.keyboard.press("/")
    box = page.locator("#palette-q")
    expect(box).to_be_focused()
    expect(active(page)).to_contain_text("Publish")
    typed(page, "tapir")

    expect(active(page)).to_contain_text(tapir)
    expect(box).to_have_attribute("aria-activedescendant", "palette-modules-1")
    page.keyboard.press("ArrowUp")
    expect(active(page)).to_contain_text("All results for")
    page.keyboard.press("ArrowDown")
    expect(active(page)).to_contain_text(tapir)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/modules/{tapir}$"))


def test_ctrl_k_reaches_actions_from_anywhere_and_escape_leads_back(page, tapir):
    page.goto("/modules")
    field = page.locator("#filter-q")
    field.focus()
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()
    expect(field).to_be_focused()

    page.keyboard.press("Control+k")
    typed(page, "new token")
    expect(active(page)).to_contain_text("Tokens")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/tokens$"))


def test_enter_before_the_options_searches_on_the_page(page, tapir):
    page.goto("/providers")
    page.route(re.compile("palette=1"), lambda _route: None)  # never answered
    page.keyboard.press("Control+k")
    page.locator("#palette-q").fill("snout")
    page.keyboard.press("Enter")

    expect(page).to_have_url(re.compile(r"/search\?q=snout$"))
    expect(page.locator("#found-inputs")).to_contain_text("Inputs")
    page.locator("#everything-q").press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/modules/{tapir}/1.0.0/inputs#input_snout_length$"))


def test_everybody_can_use_the_palette_on_a_narrow_screen(open_browser, tapir):
    page = open_browser(viewport={"width": 320, "height": 640}).new_page()
    page.goto("/how-to-use")
    page.keyboard.press("Control+k")
    typed(page, "a")

    assert findings_in_both_themes(page) == []
    box = page.locator("#palette").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    page.get_by_role("button", name="Close").last.click()
    expect(page.locator("#palette")).to_be_hidden()


def test_shortcuts_that_are_off_stay_off(page, tapir):
    page.goto("/providers")
    page.evaluate("localStorage.setItem('larder-shortcuts-off', '1')")
    page.keyboard.press("/")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_hidden()
    page.evaluate("localStorage.removeItem('larder-shortcuts-off')")
