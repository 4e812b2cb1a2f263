"""From the front page: staff mirror a registry, fetch packages in advance, and complete a lock file."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watch, browsing, look, sign_in
from tests.builders import misbehaving
from tests.builders.misbehaving import HOST, Registry
from tests.live import Live

pytestmark = pytest.mark.live
PLATFORMS = ("linux_amd64", "darwin_arm64")


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with misbehaving.running(tls=tmp_path_factory.mktemp("far")) as registry:
        registry.add_provider(versions=["1.0.0", "1.1.0"], platforms=PLATFORMS)
        yield registry


@pytest.fixture
def page(chromium: Browser, loopback: Live, watch: Watch) -> Iterator[Page]:
    with browsing(chromium, loopback, sign_in(chromium, loopback), watch) as open_:
        yield open_().new_page()


def test_staff_mirror_a_registry_fetch_in_advance_and_complete_a_lock_file(page: Page, far: Registry) -> None:
    """The pages of a run are opened once: what a worker does appears on them by itself."""
    page.goto("/")
    page.locator("header summary", has_text="admin").click()
    page.locator("header").get_by_role("link", name="Mirror", exact=True).click()
    page.get_by_role("link", name="Add a registry").first.click()
    page.get_by_label("Host").fill(HOST)
    page.locator("main summary").first.click()
    page.get_by_label("URL").fill(far.url)
    page.get_by_label("Certificate authorities").fill(far.ca)
    page.get_by_label("Cool-down in days").fill("0")
    page.get_by_role("button", name="Add the registry").click()
    expect(page.get_by_role("heading", name=HOST).first).to_be_visible()
    expect(page.locator("#first-use")).to_contain_text("Waiting for the first request of a client")
    expect(page.get_by_text("provider_installation").first).to_be_visible()
    look(page, "new registry")

    page.goto("/mirror")
    page.get_by_role("link", name="Fetch in advance").click()
    page.get_by_label("Patterns").fill(f"{HOST}/acme/tool")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 of 1 package must be fetched")).to_be_visible()
    page.get_by_role("button", name="Fetch", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="1 of 1 package")).to_contain_text("Done")
    expect(page.get_by_role("button", name="Cancel the sync")).to_have_count(0)

    page.goto("/mirror")
    page.get_by_role("link", name="Complete a lock file").click()
    source = f'tool = {{ source = "{HOST}/acme/tool", version = "~> 1.0" }}'
    page.get_by_label("Required providers").fill(f"terraform {{\n  required_providers {{\n    {source}\n  }}\n}}\n")
    page.get_by_role("button", name="Complete the lock file").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download").click()
    assert saved.value.suggested_filename.endswith("terraform.lock.hcl")  # Chromium takes the first dot away
    text = saved.value.path().read_text()
    assert f'provider "{HOST}/acme/tool"' in text
    assert text.count('"h1:') >= len(PLATFORMS)


@pytest.mark.nightly
def test_a_registry_that_is_away_is_named_on_the_page_of_the_sync(page: Page, far: Registry) -> None:
    far.stop()
    try:
        page.goto("/mirror/sync")
        page.get_by_label("Patterns").fill(f"{HOST}/acme/other")
        page.get_by_role("button", name="Preview").click()
        # It is asked again, with pauses, before the plan ends.
        expect(page.locator(".error-summary")).to_contain_text("no connection to the host", timeout=90_000)
        expect(page.get_by_role("status").filter(has_text="no packages found")).to_be_visible()
        expect(page.get_by_role("button", name="Fetch them")).to_have_count(0)
    finally:
        far.start()
