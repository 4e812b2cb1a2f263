"""An owner adds a trusted publisher, sees the claims that pass before anything is saved, and deletes it."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watch

pytestmark = pytest.mark.live


def test_an_owner_adds_a_trusted_publisher_and_deletes_it(page: Page, space: str, watch: Watch) -> None:
    watch.expect("422")  # the form that lacks something
    page.goto(f"/namespaces/{space}")
    page.get_by_role("link", name="Publishing", exact=True).click()
    page.get_by_role("link", name="Trusted publishers").first.click()
    page.get_by_role("link", name="Add a trusted publisher").first.click()
    page.get_by_role("link", name="GitHub").first.click()
    page.get_by_label("Repository", exact=True).fill("acme/vpc")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".error-summary")).to_contain_text("Workflow")
    page.get_by_label("Workflow", exact=False).first.fill("release.yml")
    page.get_by_label("Environment").fill("production")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("main")).to_contain_text("acme/vpc")
    expect(page.locator("main")).to_contain_text("repository_id")
    page.locator('main button[value="save"]').click()
    rule = page.locator("[data-rule]", has_text="acme/vpc")
    expect(rule).to_contain_text("Not used yet")
    rule.get_by_role("link", name="Delete").click()
    page.get_by_role("button", name="Delete the trusted publisher").click()
    expect(page.locator("[data-rule]", has_text="acme/vpc")).to_have_count(0)
