"""More ways to a release: tarballs, a monorepo, and questions to the person."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import Watch, findings_in_both_themes, serious_findings
from tests.browser.publishing import describe, expect_published, publish, step, tab_to
from tests.builders.archives import MODULE, PRIVATE_KEY, module_zip

pytestmark = pytest.mark.live
OpenBrowser = Callable[..., BrowserContext]
SECRETS = {**MODULE, "terraform.tfstate": "{}", "tests/id_rsa": PRIVATE_KEY}
MONOREPO = {
    "README.md": "# Three modules\n",
    "modules/net/main.tf": 'variable "net" {}\n',
    "modules/terraform-local-dns/main.tf": 'variable "dns" {}\n',
    "modules/vpc/main.tf": 'variable "vpc" {}\n',
}


def begin(page: Page, space: str, name: str, path: Path) -> None:
    """Fill in the form of a module's 1.0.0 and choose the archive."""
    describe(page, space, name)
    page.get_by_label("Version", exact=True).fill("1.0.0")
    page.locator("#file").set_input_files(path)


def own_folders(page: Page) -> Locator:
    return page.get_by_role("group", name="The folders of")


def wait_for(page: Page, state: str) -> None:
    expect(page.locator(f"#release-status[data-state={state}]")).to_be_visible(timeout=30_000)


def test_the_keyboard_alone_answers_what_a_held_release_asks(page, space, archive, watch: Watch):
    watch.expect("status of 422")
    begin(page, space, "asked", archive("asked.zip", module_zip(SECRETS)))
    publish(page)
    wait_for(page, "held")
    expect(step(page, "checked", "waiting")).to_contain_text("waiting for your answer")
    assert serious_findings(page) == []
    tab_to(page, "[data-held] form button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("Confirm it, or cancel the release")
    assert serious_findings(page) == []
    for question in ("state_file", "private_key"):
        tab_to(page, f"[name={question}]")
        page.keyboard.press("Space")
    tab_to(page, "[data-held] form button")
    page.keyboard.press("Enter")
    expect_published(page)
    expect(page.get_by_text("1 file left out by rule")).to_be_visible()


def test_several_modules_come_out_of_one_monorepo(page, space, archive, watch: Watch):
    watch.expect("status of 422")
    begin(page, space, "mono-net", archive("mono.zip", module_zip(MONOREPO)))
    page.get_by_text("An archive with several modules in it?").click()
    page.get_by_label("This archive contains several modules").check()
    publish(page)
    wait_for(page, "held")
    own_folders(page).get_by_role("checkbox", name="modules/net").check()
    page.get_by_text("Publish other folders as further modules").click()
    parts = page.locator("[data-parts]").get_by_role("listitem")
    further = parts.filter(has=page.get_by_role("checkbox", name="modules/terraform-local-dns"))
    expect(further.get_by_label("Name")).to_be_hidden()
    further.get_by_role("checkbox").check()
    expect(further.get_by_label("Name")).to_have_value("dns")
    expect(further.get_by_label("System")).to_have_value("local")
    assert serious_findings(page) == []
    further.get_by_label("Name").fill("mono dns")
    page.get_by_role("button", name="Answer and continue").click()
    expect(page.get_by_role("alert").first).to_contain_text("a space")
    further.get_by_label("Name").fill("mono_dns")
    page.get_by_role("button", name="Answer and continue").click()
    expect_published(page)
    page.get_by_role("link", name=f"{space}/mono_dns/local 1.0.0").click()
    expect_published(page)
    expect(page.get_by_text("Only its folder modules/terraform-local-dns belongs to this release.")).to_be_visible()
    page.get_by_role("link", name="Open its page").click()
    page.wait_for_url(f"**/modules/{space}/mono_dns/local/1.0.0")


def test_chosen_folders_of_a_long_list_become_one_version(page, space, archive):
    files = {f"modules/{kind}-{number:02}/main.tf": "" for kind in ("net", "dns") for number in range(30)}
    begin(page, space, "chosen", archive("chosen.zip", module_zip(files)))
    publish(page)
    wait_for(page, "held")
    own, everything = own_folders(page), own_folders(page).get_by_label("Select all that are shown")
    own.get_by_role("checkbox", name="The whole archive").check()
    expect(everything).to_be_hidden()
    own.get_by_role("checkbox", name="The whole archive").uncheck()

    for words, count in (("net-1", 10), ("dns-2", 20)):
        own.get_by_role("searchbox", name="Filter the folders").fill(words)
        expect(everything).not_to_be_checked()  # of those that show
        everything.check()
        expect(own.locator("[data-selected]")).to_have_text(f"{count} selected")
    own.get_by_role("checkbox", name="modules/dns-29").uncheck()
    expect(everything).not_to_be_checked()
    assert serious_findings(page) == []
    page.get_by_role("button", name="Answer and continue").click()
    expect_published(page)
    page.get_by_text("Only 19 of its folders belong to this release").click()
    expect(page.get_by_text("modules/dns-28", exact=True)).to_be_visible()
    page.get_by_role("link", name="Open its page").click()
    expect(page.get_by_role("link", name="Submodules 19")).to_be_visible()


def test_a_folder_outside_the_archive_is_refused_at_its_field(page, space, archive, watch: Watch):
    watch.expect("status of 422")
    begin(page, space, "outside", archive("outside.zip"))
    summary = page.get_by_text("An archive with several modules in it?")
    summary.click()
    page.get_by_label("Folder inside the archive").fill("../elsewhere")
    summary.click()
    page.get_by_role("button", name="Publish").click()
    page.get_by_role("alert").get_by_role("link", name="Folder inside the archive").click()
    expect(page.get_by_label("Folder inside the archive")).to_be_focused()


def test_the_questions_are_accessible_in_both_themes_and_fit_a_phone(open_browser: OpenBrowser, space, archive):
    page = open_browser(viewport={"width": 360, "height": 740}).new_page()
    for name, files in (("small", SECRETS), ("mono", MONOREPO)):
        begin(page, space, name, archive(f"{name}.zip", module_zip(files)))
        publish(page)
        wait_for(page, "held")
        for summary in page.locator("[data-held] summary").all():
            summary.click()
        for box in page.locator("[data-held] [type=checkbox]:not([value='.'])").all():
            box.check()
        assert findings_in_both_themes(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
