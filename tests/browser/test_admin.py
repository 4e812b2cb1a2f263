"""Operators at work in Operate: upload, yank, filter; no script or style that the policy refuses."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import findings_in_both_themes, serious_findings
from tests.browser.publishing import choose_a_new_one, expect_published
from tests.builders.archives import module_zip
from tests.live import Live
from tests.turns import DAYS, TODAY

pytestmark = pytest.mark.live
# Columns beyond the edge of a list, and cells that have a line for each word.
CRAMPED = """() => {
  const list = document.querySelector("#changelist .results");
  if (!list) return [];
  const { right } = list.getBoundingClientRect();
  const cut = [...list.querySelectorAll("thead th")].filter((head) => head.getBoundingClientRect().right > right + 1);
  // The buttons of a row name it for screen readers, in a box of one pixel.
  const cells = [...list.querySelectorAll("tbody :is(th, td):not(.field-row_acts)")].filter((cell) => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    const lines = new Set([...text.getClientRects()].map(({ top }) => Math.round(top / 8))).size;
    const words = cell.textContent.trim().split(/[ -]+/).length;
    return words > 2 && lines >= words;
  });
  return [...cut, ...cells].map((cell) => `${cell.className}: ${cell.textContent.trim()}`);
}"""


@pytest.fixture
def module(live: Live, space: str):
    """Publishes one version of a module for the test alone."""
    token = live.token()

    def publish(name: str) -> str:
        address = f"{space}/{name}/local"
        live.publish(address, "1.0.0", module_zip(comment=name.encode()), token)
        return address

    return publish


def test_a_release_is_uploaded_from_the_admin(page, space, archive):
    page.goto("/admin/upload/")
    choose_a_new_one(page, "Module")
    page.get_by_label("Namespace").select_option(space)
    page.get_by_label("Name", exact=True).fill("operated")
    page.get_by_label("System", exact=True).fill("local")
    page.locator("#file").set_input_files(archive("operated-1.2.0.zip"))
    expect(page.get_by_label("Version", exact=True)).to_have_value("1.2.0")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/releases/*")
    expect_published(page)
    page.locator("main").get_by_role("link", name="Operate", exact=True).click()
    page.wait_for_url("**/admin/releases/release/*/change/")


def test_the_page_that_asks_for_a_reason_can_be_used_by_everybody(page, module, watch):
    page.goto(f"/admin/modules/moduleversion/?q={module('reasoned')}")
    page.locator("input.action-select").check()
    page.locator("select[name=action]").select_option("purge")
    page.get_by_role("button", name="Go", exact=True).click()
    expect(page.get_by_label("Type the address and the version")).to_be_visible()
    assert watch.unexpected() == []
    assert serious_findings(page) == []
    watch.said.clear()  # axe loads a style sheet of Django's by itself, and that one imports another


PAPER = {"light": "rgb(250, 246, 239)", "dark": "rgb(26, 23, 21)"}
NIGHTLY = pytest.mark.nightly


@pytest.mark.parametrize("themes", [("dark",), pytest.param(("light", "dark"), marks=NIGHTLY)], ids="-".join)
def test_the_admin_and_the_status_are_readable_in_every_theme(page, module, watch, themes):
    """In the portal's colours, on a phone and on a desk."""
    module(f"seen-{len(themes)}")
    pages = ("", "data/", "setup/", "jobs/job/", "jobs/job/1/change/", "accounts/user/1/change/")
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        for path in (*(f"/admin/{one}" for one in pages), "/status"):
            page.goto(path)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER[theme], path
            for width in (1440, 768, 390, 320):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
                assert watch.unexpected() == [], path
                assert serious_findings(page, again=width != 1440) == [], (path, width)
                watch.said.clear()  # axe loads style sheets by itself
    page.goto("/admin/accounts/user/1/change/")
    expect(page.get_by_label("Auditor")).to_be_visible()  # `up` has made the roles


def test_a_filter_by_name_suggests_and_narrows(page, space, module):
    module("filtered")
    page.goto("/admin/modules/module/")
    page.locator("summary", has_text="Filters").click()
    field = page.get_by_label("Namespace", exact=True)
    assert space in page.locator(f"#{field.get_attribute('list')} option").evaluate_all("all => all.map(o => o.value)")
    field.fill(space)
    field.press("Enter")
    page.wait_for_url(f"**/admin/modules/module/?in={space}")
    assert serious_findings(page) == []


def is_seen(number, every):
    """Return whether axe sees this one today: another part whenever the test has its turn."""
    return (number - TODAY // DAYS) % every == 0


@pytest.mark.timeout(1200)  # at night, on a machine that others keep busy
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=NIGHTLY)])
def test_every_list_and_page_can_be_used_by_everybody(shelf_browser, every):
    """Labels of inline rows and of what select2 draws among them. By day axe sees a quarter of them, by turns."""
    page, watch = shelf_browser
    findings = serious_findings if every > 1 else findings_in_both_themes
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/admin/data/")
    listed, added = (
        page.locator(f".data .list {links}").evaluate_all("all => all.map((link) => link.pathname)")
        for links in ("a:not(.button)", "a.button")
    )
    opened = []
    for number, path in enumerate([*listed, *added]):
        page.goto(path)
        assert page.evaluate(CRAMPED) == [], path
        assert not is_seen(number, every) or findings(page) == [], path
        row = page.locator("#result_list tbody th a")
        if row.count():
            opened.append(row.first.evaluate("link => link.pathname"))
    for number, path in enumerate(opened):
        page.goto(path)
        folded = page.locator("#content details:not([open]) > summary")
        while folded.count():
            folded.first.click()
        if (more := page.locator(".add-row a")).count():
            more.first.click()
        assert not is_seen(number, every) or findings(page) == [], path
    assert (len(listed), len(added)) == (44, 4)
    assert len(opened) > 12
    assert watch.unexpected() == []
    watch.said.clear()  # axe loads style sheets by itself
