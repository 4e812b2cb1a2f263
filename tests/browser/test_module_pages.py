"""What scripts add to the pages of a module: a filter over inputs, ranges of lines, and the open tab in view."""

import pytest
from playwright.sync_api import expect

from tests.builders import modules
from tests.builders.archives import module_zip

pytestmark = [pytest.mark.live, pytest.mark.once]


@pytest.fixture(scope="module")
def network(live, space):
    address = f"{space}/network/aws"
    assert live.publish(address, "1.0.0", module_zip(modules.network("1.0.0")), live.token())["state"] == "published"
    return f"/modules/{address}/1.0.0"


def test_inputs_are_filtered_by_their_words(page, network):
    page.goto(f"{network}/inputs")
    page.get_by_label("Filter the inputs").fill("NAT gateway")

    expect(page.locator("#input_nat_gateway")).to_be_visible()
    expect(page.locator("#input_cidr")).to_be_hidden()
    expect(page.get_by_role("heading", name="Required")).to_be_hidden()
    expect(page.locator("[data-filter-said]")).to_contain_text(" of ")
    page.evaluate("location.hash = 'input_cidr'")
    expect(page.locator("#input_cidr")).to_be_visible()


def test_lines_are_marked_as_the_address_says(page, network):
    page.goto(f"{network}/files/main.tf#L3-L5")
    marked = page.locator("[data-marked]")

    expect(marked).to_have_count(3)
    page.locator('[data-line="8"]').click(modifiers=["Shift"])
    expect(marked).to_have_count(6)
    assert page.url.endswith("#L3-L8")


def test_the_open_tab_is_in_view_on_a_phone(open_browser, network):
    page = open_browser(viewport={"width": 360, "height": 800}).new_page()
    page.goto(f"{network}/files")

    expect(page.locator(".tabs [aria-current]")).to_be_in_viewport()


def test_every_tab_works_without_scripts(open_browser, network):
    page = open_browser(java_script_enabled=False).new_page()
    page.goto(network)
    page.get_by_text("With its required inputs").click()
    expect(page.get_by_text("availability_zones = [] # list(string)")).to_be_visible()
    for tab in ("Inputs", "Outputs", "Resources", "Dependencies", "Submodules", "Examples", "Files"):
        page.locator(".tabs").get_by_role("link", name=tab).click()
        expect(page.locator(".tabs [aria-current]")).to_contain_text(tab)
    page.goto(f"{network}/inputs")
    expect(page.get_by_label("Filter the inputs")).to_be_hidden()


def test_a_copied_text_is_ticked_inside_its_button(page, network):
    page.goto(network)
    button = page.locator(".copy:visible").first
    tick = button.locator(".icon-done svg")
    button.click()

    expect(button).to_have_attribute("data-copied", "")
    expect(tick).to_be_visible()
    around, inside = button.bounding_box(), tick.bounding_box()
    assert around
    assert inside
    for start, length in (("x", "width"), ("y", "height")):
        middle = inside[start] + inside[length] / 2
        assert middle == pytest.approx(around[start] + around[length] / 2, abs=1)


def test_the_key_y_shows_that_the_address_was_copied(open_browser, network):
    page = open_browser(permissions=["clipboard-read", "clipboard-write"]).new_page()
    page.goto(f"{network}/inputs#input_cidr")
    page.keyboard.press("y")

    expect(page.locator(".flash")).to_have_text("Address copied")
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"{network}/inputs")
    expect(page.locator(".flash")).to_have_count(0)
