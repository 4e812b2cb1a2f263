"""The pages of a module in a browser: what scripts add to them, and what fits on a screen."""

import pytest
from playwright.sync_api import expect

from tests.builders import modules
from tests.builders.archives import MODULE, module_zip

pytestmark = pytest.mark.live


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


def middle_of(locator):
    box = locator.bounding_box()
    return box["y"] + box["height"] / 2


@pytest.mark.parametrize("width", [320, 390])
def test_every_tab_and_one_row_of_links_are_in_view_on_a_phone(open_browser, network, width):
    page = open_browser(viewport={"width": width, "height": 800}).new_page()
    page.goto(network)

    for link in page.locator(".tabs__link").all():
        expect(link).to_be_in_viewport(ratio=1)
    rows = {round(middle_of(link)) for link in page.locator(".masthead__link").all() if link.is_visible()}
    assert len(rows) == 1
    assert abs(rows.pop() - middle_of(page.locator(".masthead__brand"))) <= 2, "all in the row of the name"


def test_a_wide_table_of_a_readme_scrolls_and_shows_all_columns_where_they_fit(open_browser, live, space):
    head = "| Name | Description | Type | Default | Required |\n|---|---|---|---|---|\n"
    row = f"| {'a_long_name_' * 5} | {'Says what it is for. ' * 9} | `list(string)` | `{'[1, 2]' * 9}` | no |\n"
    data = module_zip({**MODULE, "README.md": f"# Wide\n\n{head}{row * 3}"})
    assert live.publish(f"{space}/wide/null", "1.0.0", data, live.token())["state"] == "published"
    table = "[...document.querySelectorAll('.prose table')].map(t => [t.clientWidth, t.scrollWidth])[0]"
    widths = {}
    for width in (390, 1440):
        page = open_browser(viewport={"width": width, "height": 900}).new_page()
        page.goto(f"/modules/{space}/wide/null/1.0.0")
        widths[width] = page.evaluate(table)
        assert page.evaluate("document.documentElement.scrollWidth") == width

    assert widths[1440][0] == widths[1440][1]
    assert widths[390][0] < widths[390][1]


def test_every_tab_works_without_scripts(open_browser, network):
    page = open_browser(java_script_enabled=False).new_page()
    page.goto(network)
    block = page.get_by_text("availability_zones = [] # list(string)")
    expect(block).to_be_hidden()
    page.locator(".copybar").get_by_text("Form", exact=True).click()
    expect(block).to_be_visible()
    expect(page.get_by_role("region", name="Exact")).to_be_hidden()
    for tab in ("Inputs", "Outputs", "Resources", "Dependencies", "Submodules", "Examples", "Files"):
        page.locator(".tabs").get_by_role("link", name=tab).click()
        expect(page.locator(".tabs [aria-current]")).to_contain_text(tab)
    page.goto(f"{network}/inputs")
    expect(page.get_by_label("Filter the inputs")).to_be_hidden()


def test_a_copied_text_is_ticked_inside_its_button(open_browser, network):
    page = open_browser(permissions=["clipboard-write"]).new_page()  # a browser with windows gives it to whoever clicks
    page.goto(network)
    expect(page.locator(".prose .snippet > .copy")).to_have_count(page.locator(".prose .snippet").count())
    page.locator(".copybar").get_by_role("button", name="Copy").click()
    expect(page.locator(".copybar [data-copied]")).to_be_visible()
    page.goto(f"{network}/usage")
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
