"""Publishing as a person does it."""

import base64
import os
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import Watch, serious_findings
from tests.browser.publishing import describe, expect_published, step, tab_to
from tests.builders.archives import module_zip

pytestmark = pytest.mark.live
OpenBrowser = Callable[..., BrowserContext]


@pytest.mark.full
@pytest.mark.smoke
def test_a_chosen_file_is_published_and_the_page_follows_it_to_the_end(page, space, archive):
    describe(page, space, "chosen")
    page.locator("#file").set_input_files(archive("chosen-1.2.0.zip"))
    expect(page.get_by_label("Version", exact=True)).to_have_value("1.2.0")
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/releases/*")
    expect_published(page)
    expect(page.locator("#release-status")).not_to_have_attribute("hx-trigger", "every 1s")
    page.get_by_role("link", name="Open its page").click()
    page.wait_for_url(f"**/modules/{space}/chosen/local/1.2.0")


def test_a_file_finds_the_module_that_it_is_for_and_its_next_version(page, space, archive, live):
    token = live.token()
    for address in (f"{space}/matched/local", f"{space}/matched/null", f"{space}/alone/local"):
        live.publish(address, "1.4.0", module_zip(comment=address.encode()), token)
    page.goto("/publish")
    module, version = page.get_by_label("Module", exact=True), page.get_by_label("Version", exact=True)
    parts = page.get_by_label("Name", exact=True)
    expect(module).to_have_value("")
    expect(parts).to_be_hidden()

    page.locator("#file").set_input_files(archive("terraform-local-alone-main.zip"))
    expect(module).to_have_value(f"{space}/alone/local")
    expect(version).to_have_value("1.5.0")
    expect(page.get_by_role("status").get_by_text("highest version is 1.4.0")).to_be_visible()
    assert serious_findings(page) == []

    page.locator("#file").set_input_files(archive("matched.zip"))
    expect(page.get_by_text(f"several modules: {space}/matched/local, {space}/matched/null.")).to_be_visible()
    expect(module).to_have_value("")
    expect(parts).to_be_hidden()

    page.locator("#file").set_input_files(archive("terraform-local-unheard-2.0.0.zip"))
    expect(page.get_by_text("There is no module unheard that you can publish.")).to_be_visible()
    expect(module).to_have_value("")
    module.select_option("new")
    expect(page.get_by_text("There is no module unheard that you can publish.")).to_be_hidden()
    expect(parts).to_have_value("unheard")
    expect(version).to_have_value("2.0.0")


def test_a_namespace_created_in_another_tab_is_offered_and_the_file_stays(page, space, archive):
    page.goto("/publish")
    page.locator("#file").set_input_files(archive("fresh-1.2.0.zip"))
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Create a namespace").click()
    created = f"{space}-next"
    opened.value.get_by_label("Name", exact=True).fill(created)
    opened.value.get_by_role("button", name="Create").click()
    opened.value.wait_for_url(f"**/namespaces/{created}")
    opened.value.close()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # a browser without windows fires none

    expect(page.get_by_label("Namespace", exact=True)).to_have_value(created)
    expect(page.get_by_label("Version", exact=True)).to_have_value("1.2.0")


def test_a_file_can_be_dropped(page, space, archive):
    describe(page, space, "dropped")
    data = base64.b64encode(archive("dropped-2.0.0-rc.1.zip").read_bytes()).decode()
    transfer = page.evaluate_handle(
        """data => {
          const transfer = new DataTransfer();
          const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
          transfer.items.add(new File([bytes], "dropped-2.0.0-rc.1.zip", { type: "application/zip" }));
          return transfer;
        }""",
        data,
    )
    zone = page.locator("[data-dropzone]")
    zone.dispatch_event("dragenter", {"dataTransfer": transfer})
    expect(zone).to_have_class("dropzone only-js dropzone--over")
    zone.dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.get_by_label("Version", exact=True)).to_have_value("2.0.0-rc.1")
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/releases/*")
    expect_published(page)


def test_the_keyboard_alone_publishes(page, space, archive):
    page.on("filechooser", lambda _: None)  # Playwright tells the browser of the first listener alone, without waiting
    page.goto("/publish")
    tab_to(page, "#file")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(archive("terraform-local-typed-1.0.0.zip"))
    if page.locator("#id_module").count():
        tab_to(page, "#id_module")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")  # a new module
    tab_to(page, "#id_namespace")
    page.keyboard.type(space)
    for field in ("#id_name", "#id_system", "#id_version"):
        tab_to(page, field)
    for field, value in (("#id_name", "typed"), ("#id_system", "local"), ("#id_version", "1.0.0")):
        expect(page.locator(field)).to_have_value(value)
    tab_to(page, "form[data-publish] [type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/releases/*")
    expect_published(page)


def test_it_works_without_javascript(open_browser: OpenBrowser, space, archive, watch: Watch):
    watch.expect("status of 422")
    page = open_browser(java_script_enabled=False).new_page()
    describe(page, space, "plain")
    page.get_by_label("Version", exact=True).fill("v1")
    page.get_by_role("button", name="Continue to the file").click()
    expect(page.locator("#id_version_error")).to_be_visible()
    page.get_by_label("Version", exact=True).fill("1.0.0")
    page.get_by_role("button", name="Continue to the file").click()
    page.wait_for_url("**/releases/*")
    page.get_by_label("Choose an archive").set_input_files(archive("plain.zip"))
    page.get_by_role("button", name="Upload and publish").click()
    page.wait_for_url("**/releases/*")
    for _ in range(60):
        if step(page, "published", "done").count():
            break
        page.wait_for_timeout(250)
        page.reload()
    expect_published(page)


def test_a_broken_rule_is_explained_beside_its_field_and_keeps_the_file(page, space, archive, watch: Watch):
    watch.expect("status of 422")
    describe(page, space, "up per")
    page.locator("#file").set_input_files(archive("upper-1.0.0.zip"))
    page.get_by_role("button", name="Publish").click()
    alert = page.get_by_role("alert")
    expect(alert).to_be_focused()
    expect(alert).to_contain_text("a space")
    expect(page.get_by_label("Name", exact=True)).to_have_attribute("aria-invalid", "true")
    assert serious_findings(page) == []
    page.get_by_label("Name", exact=True).fill("upper")
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/releases/*")
    expect_published(page)


def test_an_upload_can_be_cancelled_and_its_number_stays_free(page, space, archive, watch: Watch):
    watch.expect("status of 409")  # the cancelling comes after the server saw the upload break
    describe(page, space, "cancelled")
    page.locator("#file").set_input_files(archive("cancelled-1.0.0.zip", os.urandom(20_000_000)))
    network = page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 500_000}
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", slow)
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("[data-progress-numbers]")).to_contain_text("left")
    assert serious_findings(page) == []
    page.get_by_role("button", name="Cancel the upload").click()
    expect(page.get_by_role("status").filter(has_text="still free")).to_be_attached()
    network.send("Network.emulateNetworkConditions", {**slow, "uploadThroughput": -1})
    page.locator("#file").set_input_files(archive("cancelled-1.0.0.zip"))
    page.get_by_role("button", name="Publish").click()
    page.wait_for_url("**/releases/*")
    expect_published(page)


def test_a_file_over_the_limit_is_refused_without_sending_it(page, space, archive):
    describe(page, space, "large")
    page.locator("form[data-publish]").evaluate("form => { form.dataset.maxBytes = 10 }")
    page.locator("#file").set_input_files(archive("large-1.0.0.zip"))
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("alert")).to_contain_text("module_archive_max_bytes of LARDER_LIMITS")


def test_a_file_that_is_no_archive_is_not_taken_and_one_without_a_suffix_is(page, archive):
    page.goto("/publish")
    page.locator("#file").set_input_files(archive("notes.txt", b"buy plums"))
    expect(page.get_by_role("alert")).to_contain_text("notes.txt is not an archive")
    page.locator("#file").set_input_files(archive("v1.2.0"))
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_servers_own_refusal_of_a_size_is_shown(page, space, archive, watch: Watch):
    watch.expect("status of 413")
    describe(page, space, "larger")
    page.locator("form[data-publish]").evaluate("form => { form.dataset.maxBytes = 1e12 }")
    path = archive("larger-1.0.0.zip", b"")
    os.truncate(path, 101 * 1024 * 1024)
    page.locator("#file").set_input_files(path)
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("alert")).to_contain_text("module_archive_max_bytes of LARDER_LIMITS", timeout=30_000)
