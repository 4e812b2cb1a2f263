"""A provider's documentation with and without scripts: the filter over its pages, and other versions."""

import pytest
from playwright.sync_api import expect

from tests.builders import docs, providers

pytestmark = pytest.mark.live
AT = "/providers/shelf/dns"


def test_pages_are_found_by_typing_and_opened_where_they_were_folded(shelf_page):
    shelf_page.goto(f"{AT}/1.1.0/docs")
    record = shelf_page.get_by_role("link", name="dns_record_17").first
    expect(record).to_be_hidden()  # so many pages are folded
    shelf_page.get_by_label("Filter the pages").fill("record_17")

    expect(record).to_be_visible()
    expect(shelf_page.get_by_role("link", name="dns_zone")).to_be_hidden()
    expect(shelf_page.locator("[data-filter-said]")).to_contain_text("2 of ")
    shelf_page.get_by_label("Filter the pages").fill("zones")  # a word of its subcategory
    expect(shelf_page.get_by_role("link", name="dns_zone")).to_be_visible()


def test_a_filter_in_the_address_can_be_widened(shelf_page):
    shelf_page.goto(f"{AT}/1.0.0/docs?q=zone")
    expect(shelf_page.get_by_role("link", name="dns_record", exact=True)).to_be_hidden()
    shelf_page.get_by_label("Filter the pages").fill("")
    expect(shelf_page.get_by_role("link", name="dns_record", exact=True)).to_be_visible()


def test_the_switcher_stays_on_the_page(shelf_page):
    shelf_page.goto(f"{AT}/1.0.0/docs/resources/record")
    shelf_page.locator(".switcher summary").click()
    shelf_page.locator(".switcher .menu__item", has_text="1.1.0").click()
    shelf_page.wait_for_url(f"**{AT}/1.1.0/docs/resources/record")
    expect(shelf_page.get_by_role("link", name="dns_record", exact=True)).to_have_attribute("aria-current", "page")


def test_an_archive_is_sent_and_shown_without_a_reload(shelf_page, archive):
    shelf_page.goto("/providers/shelf/bare/1.0.0/docs/archive")
    shelf_page.get_by_label("Zip of the folder docs").set_input_files(archive("docs.zip", docs.archive()))
    shelf_page.get_by_role("button", name="Upload", exact=True).click()
    expect(shelf_page.locator("#docs-sent")).to_contain_text("7 pages")
    shelf_page.goto("/providers/shelf/bare/1.0.0/docs")
    expect(shelf_page.get_by_role("heading", name="DNS Provider")).to_be_visible()


def test_a_draft_takes_the_zip_of_documentation_beside_the_packages(shelf_page, tmp_path):
    stem = "terraform-provider-paged_1.0.0"
    package = providers.package("paged", "1.0.0", "linux", "amd64")
    for name, data in ((f"{stem}_linux_amd64.zip", package), (f"{stem}_docs.zip", docs.archive())):
        (tmp_path / name).write_bytes(data)
    shelf_page.goto("/publish/provider")
    shelf_page.locator("#chosen-folder").set_input_files(tmp_path)

    row = shelf_page.locator(f'[data-plan-file="{stem}_docs.zip"]')
    expect(row).to_contain_text("Documentation")
    expect(row).not_to_contain_text("see above")
    expect(shelf_page.locator("[data-plan-problems]")).to_be_hidden()
    expect(shelf_page.locator("[data-plan-signing=open]")).to_contain_text("Who signs it depends on the namespace")
