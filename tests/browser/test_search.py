"""Searching with a keyboard, in Debian's Chromium: results while typing, one question at a time, and no script."""

import re

import pytest
from playwright.sync_api import expect

from tests.builders.archives import module_zip

pytestmark = pytest.mark.live

NAMES = ("quagga/aws", "quagga_herd/aws", "quokka/google")


@pytest.fixture(scope="module")
def animals(live, space):
    """Three modules; only the first has the input `enable_zebra_crossing`."""
    token = live.token()
    for name in NAMES:
        files = {"main.tf": 'output "id" {\n  value = 1\n}\n', "README.md": f"# {name}\n\nKeeps striped animals.\n"}
        if name == NAMES[0]:
            files["variables.tf"] = 'variable "enable_zebra_crossing" {\n  type = bool\n}\n'
        live.publish(f"{space}/{name}", "1.0.0", module_zip(files), token)
    return space


def test_results_come_while_somebody_types(page, animals):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/modules?" in request.url else None)
    page.goto("/modules")
    page.locator("#filter-q").focus()
    page.keyboard.type("zebra", delay=30)

    expect(page.locator("#result-count")).to_have_text("1 module found")
    expect(page.locator("[data-rows]")).to_contain_text("input enable_zebra_crossing")
    expect(page.locator("[data-rows] mark")).to_have_text(["zebra"])
    expect(page).to_have_url(re.compile(r"/modules\?q=zebra$"))
    expect(page).to_have_title("zebra - Modules - Larder")
    expect(page.locator("#filter-q")).to_be_focused()
    assert len(asked) == 1, asked  # one question for the word, not one for each letter


def test_filters_follow_and_keep_what_was_chosen(page, animals):
    page.goto("/modules?q=stripe")
    system = page.locator("#filter-system")
    expect(system.locator("option")).to_have_text(["All", "aws (2)", "google (1)"])
    system.focus()
    system.select_option("google")

    expect(page.locator("#result-count")).to_have_text("1 module found")
    expect(system).to_have_value("google")
    expect(system).to_be_focused()
    expect(page.locator("#filter-namespace")).to_have_value("")
    expect(page).to_have_url(re.compile(r"/modules\?q=stripe&system=google$"))
    page.get_by_role("link", name="Clear").click()
    expect(page).to_have_url(re.compile(r"/modules$"))


def test_enter_and_the_arrows_lead_to_a_module_and_back(page, animals):
    page.goto("/modules")
    page.locator("#filter-q").fill("quagga")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/modules\?q=quagga$"))
    page.locator("#filter-q").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/modules/{animals}/quagga_herd/aws$"))
    page.go_back()

    expect(page.locator("#filter-q")).to_have_value("quagga")
    expect(page.locator("#result-count")).to_have_text("2 modules found")
