"""Docs in Debian's Chromium, without scripts too: the index beside a page, the reference, and the keyboard."""

import pytest
from playwright.sync_api import expect


@pytest.fixture(params=[True, False], ids=["with-js", "without-js"])
def reader(request, open_browser):
    return open_browser(java_script_enabled=request.param, viewport={"width": 1280, "height": 800}).new_page()


def test_an_anchor_of_the_one_long_page_leads_to_the_open_description(reader):
    reader.goto("/api/docs#put_team")
    reader.locator("#put_team").get_by_role("link").click()

    reader.wait_for_url("**/api/docs/teams#put_team")
    expect(reader.locator("#put_team")).to_be_in_viewport()
    expect(reader.locator("#put_team")).to_contain_text("Needs a token with the scope manage")
    expect(reader.locator("#get_team")).to_be_hidden()


def test_the_index_is_beside_the_page_where_there_is_room_and_folded_where_there_is_none(reader):
    entry = reader.get_by_role("navigation", name="Docs").get_by_role("link", name="Webhooks", exact=True)
    reader.goto("/help/using")
    expect(entry).to_be_visible()
    reader.set_viewport_size({"width": 390, "height": 800})
    expect(entry).to_be_hidden()

    reader.get_by_text("All pages of the docs").click()
    entry.click()

    reader.wait_for_url("**/help/webhooks")


def test_the_index_shows_the_keyboard_shortcuts(page):
    page.goto("/how-to-use")
    page.get_by_role("button", name="Keyboard shortcuts").click()

    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
